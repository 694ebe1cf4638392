// Brings chunks of a .npu file into memory: reads, unfolds and checks their pieces, several at
// once.
#pragma once

#include <cstdint>
#include <span>

#include "base/cancel.h"
#include "base/result.h"
#include "base/worker_pool.h"
#include "runtime/compiled/npu_file.h"

namespace assay::runtime::npu {

// Sums over all threads; with n threads the parts may add up to n times the wall time.
struct ReadTimes {
  std::uint64_t stored_bytes = 0;
  std::uint64_t bytes = 0;  // unfolded
  std::int64_t wall_ns = 0;
  std::int64_t read_ns = 0;    // waiting for the file
  std::int64_t unfold_ns = 0;  // of packed pieces
  std::int64_t check_ns = 0;   // checksums

  ReadTimes& operator+=(const ReadTimes& other);
};

// `chunk` is one of the file's index, `memory` of chunk.bytes. Each thread takes the next piece, so
// that one waits for the file while others unfold; the kernel is told of what comes next. Takes 1
// MiB a thread. Errors: bad_file, with the chunk and the byte of the file ("is damaged"); vanished
// when the file became shorter; io; cancelled. The memory's content is then unspecified.
Result<ReadTimes> read_chunk(const NpuFile& file, const Chunk& chunk, std::span<std::byte> memory,
                             WorkerPool& pool, const CancelToken& cancel);

}  // namespace assay::runtime::npu
