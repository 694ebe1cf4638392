// The physical pages of a virtual board: who holds each 4 KiB frame. The buddy allocator's view and
// the NPU's pool are both read off this one map, so fragmentation is something that happened, not a
// number.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace assay::station {

class PageFrames {
 public:
  enum class Holder : std::uint8_t {
    free,
    kernel,       // cannot be moved
    process,      // movable
    leftover,     // buffers of NPU tasks that are finished: flushing drops them
    stuck,        // pinned by a driver: looks movable and is not
    pool_driver,  // the NPU driver's own tables
    mapping,      // mapped for the NPU now
  };
  static constexpr std::uint64_t page_bytes = 4096;

  struct Run {
    std::size_t first = 0;  // frame number
    std::size_t count = 0;
  };

  // `pool_bytes` in the middle of the memory belong to the NPU's pool; of them the first
  // `driver_bytes` to its driver. Processes and finished tasks have left pages all over.
  PageFrames(std::uint64_t memory_bytes, std::uint64_t pool_bytes, std::uint64_t driver_bytes,
             int largest_order, std::uint64_t seed);

  // Pins that many pages, spread over the pool.
  void pin_in_pool(int pages);

  // The longest run of free frames in the pool. With `joins_blocks` false no run is longer than a
  // block of the largest order, aligned as such blocks are.
  Run largest_free_run(bool joins_blocks) const;
  std::uint64_t pool_free_bytes() const;
  std::uint64_t pool_bytes() const { return pool_.count * page_bytes; }

  // First fit for one run; none: nothing is taken.
  std::optional<Run> take_run(std::size_t frames, bool joins_blocks);
  // Runs of at most a block of the largest order; none when the pool has too little.
  std::optional<std::vector<Run>> take_blocks(std::size_t frames);
  void give_back(const Run& run);

  // Drops the leftovers. Returns the bytes freed.
  std::uint64_t flush();
  // Moves every movable page out of the pool, while there is room outside. Returns bytes moved.
  std::uint64_t compact();

  // The text of /proc/buddyinfo: free blocks outside the pool.
  std::string buddyinfo() const;

 private:
  std::vector<Holder> frames_;
  Run pool_;
  std::size_t search_from_ = 0;  // no frame of the pool below it is free
  std::size_t block_frames_;
  int largest_order_;
};

}  // namespace assay::station
