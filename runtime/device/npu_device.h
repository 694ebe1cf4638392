// What the runtime asks of an NPU's driver: memory that the device can reach, and when it computes.
//
// The rule that makes boards fail lives here: one mapping of a device without large-page DMA must
// be one physically contiguous run of pages. A pool taken at start can be flushed and defragmented
// into one large block, but only while nothing is mapped from it.
//
// All calls are safe from any thread. Sizes are bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/result.h"

namespace assay::runtime {

enum class Placement {
  contiguous,  // one physically contiguous run: how a dense model's weights are mapped
  scattered,   // a scatter-gather list of blocks: how an expert's chunk is mapped
};

struct Mapping {
  std::uint64_t id = 0;         // names it towards the device
  std::span<std::byte> memory;  // as the CPU sees it; page aligned, zero-filled when fresh
  std::size_t blocks = 1;       // physically contiguous pieces it is made of
};

struct PoolInfo {
  std::uint64_t total_bytes = 0;  // 0: no pool
  std::uint64_t free_bytes = 0;
  std::uint64_t largest_free_block_bytes = 0;
  std::size_t live_mappings = 0;
};

class NpuDevice {
 public:
  virtual ~NpuDevice() = default;

  // Fails with ErrorKind::exhausted and the driver's own message ("npu_dma_map_error: cannot map N
  // bytes") when no run of pages fits, with ErrorKind::usage for 0 bytes or, when scattered, more
  // than max_chunk_bytes().
  virtual Result<Mapping> map(std::uint64_t bytes, Placement placement) = 0;
  // After it `memory` must not be touched.
  virtual void unmap(std::uint64_t id) = 0;

  // The largest scattered mapping.
  virtual std::uint64_t max_chunk_bytes() const = 0;

  // Drops what finished tasks left in the pool. Mappings stay.
  virtual Result<> pool_flush() = 0;
  // Joins the free blocks. Stops every task; refused with ErrorKind::usage while mappings live,
  // whose addresses it would break.
  virtual Result<> pool_defragment() = 0;
  virtual PoolInfo pool_info() const = 0;

  // Compute units of the device that work from now on; it heats up and draws power by that.
  virtual void set_active_units(unsigned units) = 0;
  virtual unsigned units() const = 0;
  // Called after each forward pass with the time that it took on the nominal clock. A device that
  // runs slower than nominal (thermal throttling) holds the caller for the difference.
  virtual void pace(std::int64_t elapsed_ns) = 0;
};

}  // namespace assay::runtime
