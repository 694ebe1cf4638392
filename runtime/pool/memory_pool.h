// A pool of this machine's memory for a device that wants physically contiguous mappings: taken
// once in large pages, handed out in runs. The counterpart of a board's own pool, and of its C
// interface (runtime/npu.h).
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <optional>

#include "base/result.h"
#include "runtime/device/npu_device.h"
#include "runtime/pool/pool_pages.h"

namespace assay::runtime {

// All calls are safe from any thread.
class MemoryPool {
 public:
  // Errors: those of PoolPages::take().
  static Result<std::unique_ptr<MemoryPool>> create(std::uint64_t bytes);

  // Zero-filled. Contiguous: inside one physical run. What finished tasks left is not taken before
  // a flush. Errors: usage for 0 bytes; exhausted ("npu_dma_map_error: cannot map N bytes").
  Result<Mapping> map(std::uint64_t bytes, Placement placement);
  // Leaves the memory to whoever flushes.
  void unmap(std::uint64_t id);

  // Makes free what finished tasks left. Mappings stay.
  void flush();
  // Flushes, gives all memory back, asks the kernel to compact what the machine has (root), and
  // takes it again: in larger pages and longer runs where there are such now. Errors: usage, while
  // mappings live; exhausted: the memory went to someone else, and the pool is empty.
  Result<> defragment();

  PoolInfo info() const;
  PageShares shares() const;
  // Whether runs are those of the kernel's page map. Without root they are single pages.
  bool frames_known() const;

 private:
  struct Range {
    std::uint64_t bytes = 0;
    enum class State { free, live, left } state = State::free;
    bool dirty = false;
  };
  using Ranges = std::map<std::uint64_t, Range>;  // by offset, ascending, without gaps

  explicit MemoryPool(std::unique_ptr<PoolPages> pages);
  void reset_ranges();
  // Of a free range the first part that holds a contiguous mapping, as an offset.
  std::optional<std::uint64_t> place_in(const Ranges::value_type& range, std::uint64_t bytes,
                                        Placement placement) const;
  std::uint64_t runs_in(std::uint64_t offset, std::uint64_t bytes) const;
  Ranges::iterator split(Ranges::iterator range, std::uint64_t offset);
  void join_free();
  std::uint64_t largest_free() const;
  void flush_locked();

  mutable std::mutex mutex_;
  std::unique_ptr<PoolPages> pages_;
  Ranges ranges_;
  std::map<std::uint64_t, std::uint64_t> live_;  // id -> offset
  std::uint64_t next_id_ = 1;
};

// Makes the kernel's pools of huge pages large enough for a pool of that size, so that a later
// create() finds them: at boot, while memory is whole. Returns the bytes that lie ready in huge
// pages. Needs root.
std::uint64_t preallocate_huge_pages(std::uint64_t bytes);

}  // namespace assay::runtime
