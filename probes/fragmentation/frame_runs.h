// The longest runs of physical memory, frame by frame, from /proc/kpageflags (kernel documentation,
// admin-guide/mm/pagemap; readable by root). The page allocator's own lists end at its largest
// order: two free blocks side by side are one run here.
#pragma once

#include <cstdint>
#include <functional>
#include <span>

#include "base/cancel.h"
#include "base/machine.h"
#include "base/result.h"

namespace assay::probes {

struct FrameRun {
  std::uint64_t first = 0;  // frame number
  std::uint64_t frames = 0;
};

// Fed with the flags of frames in their order. The first of runs that are as long counts.
class FrameRuns {
 public:
  void add(std::span<const std::uint64_t> flags);

  // In the page allocator's lists.
  const FrameRun& free() const { return free_.longest; }
  // Free, or of pages that compaction can move: on an LRU list, neither locked nor unevictable.
  const FrameRun& movable() const { return movable_.longest; }
  std::uint64_t frames() const { return next_; }

 private:
  struct Runs {
    FrameRun current;
    FrameRun longest;
    void add(std::uint64_t frame, bool is_part);
  };
  Runs free_;
  Runs movable_;
  std::uint64_t next_ = 0;
};

// Reads the whole file: some 100 ns a frame. Errors: unavailable, without root or where the kernel
// has no such file; cancelled. `progress` gets frames.
Result<FrameRuns> read_frame_runs(const Machine& machine, const CancelToken& cancel,
                                  const std::function<void(std::uint64_t frames)>& progress);

}  // namespace assay::probes
