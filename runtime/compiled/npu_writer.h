// Writes a .npu file, chunk after chunk, with memory for one piece at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/atomic_output.h"
#include "base/result.h"
#include "runtime/compiled/npu_file.h"

namespace assay::runtime::npu {

// Used by one thread. The file appears with finish(), or not at all.
class NpuWriter {
 public:
  // Errors: AtomicOutput's; usage for a target board's name over target_bytes.
  static Result<NpuWriter> create(const std::string& path, Description description);

  // The chunks that follow each other, and within each its bytes in any portions. Errors: usage
  // for an empty chunk, for one over the description's largest (metadata apart), and for more than
  // the format counts; the output's.
  Result<> begin_chunk(ChunkKind kind, Codec codec, std::uint32_t layer = no_layer,
                       std::uint32_t expert = 0);
  Result<> append(std::span<const std::byte> bytes);
  // A tensor that begins with the next byte of the chunk, which is filled up with zeros to
  // tensor_alignment; its bytes are to be appended next. Errors: usage when the one before it did
  // not get just what was announced; so does end_chunk().
  Result<> begin_tensor(std::string name, std::string type, std::uint64_t rows, std::uint64_t cols,
                        std::uint64_t bytes);
  Result<> end_chunk();

  // Once, as the last call, outside of a chunk. Errors: usage for an index that NpuFile would not
  // take, such as one of a tensor that got fewer bytes than announced; the output's.
  Result<> finish(Durability durability = Durability::synced);

  const Index& index() const { return index_; }

 private:
  NpuWriter(AtomicOutput output, std::string path, Description description);
  Result<> write_piece();
  Result<> check_last_tensor() const;
  Result<> fill_up(std::uint64_t bytes);
  std::vector<std::byte> index_bytes() const;
  std::vector<std::byte> header(std::uint64_t index_offset, std::span<const std::byte> index) const;

  AtomicOutput output_;
  std::string path_;
  Index index_;
  Chunk chunk_;                   // the one that is written
  std::vector<std::byte> piece_;  // what is not yet written of it
};

}  // namespace assay::runtime::npu
