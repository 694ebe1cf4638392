// Runs memory tests over a region, all workers at once, pass by pass. A pass is one element of one
// test; a pass that only verifies and a following one that only writes become one, which moves more
// bytes a second than two.
//
// Order claims hold inside a worker's part of the region and inside runs of physically contiguous
// pages; different workers go over their parts at the same time.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/cancel.h"
#include "base/worker_pool.h"
#include "probes/memory/algorithm.h"
#include "probes/memory/error_log.h"
#include "probes/memory/line_kernel.h"

namespace assay::probes {

struct BlockStep;

struct MemoryRunOptions {
  Flush flush = Flush::automatic;
  std::int64_t hold_ns = 0;      // of bit-fade
  std::int64_t deadline_ns = 0;  // monotonic: behind it no pass begins but of the first iteration
};

// What was done of one test, for its figures.
struct TestFigures {
  std::string name;
  std::uint64_t bytes_moved = 0;  // that its operations read and wrote
  std::int64_t elapsed_ns = 0;
};

class MemoryRun {
 public:
  // All of them are used until the run is destroyed. `region` is a multiple of 64 bytes and aligned
  // to them.
  MemoryRun(std::span<std::byte> region, std::span<const Algorithm> tests,
            const MemoryRunOptions& options, WorkerPool& workers, LineHook* hook,
            const CancelToken& cancel);
  ~MemoryRun();

  // Called from the workers: bytes moved since the run began, of the pass described by text.
  std::function<void(std::uint64_t bytes_moved, const std::string& text)> on_progress;
  // Called between passes with each error that is handed over one by one; no more than 64 a worker
  // and pass. `uncounted` are those beyond them, in the last call of a pass.
  std::function<void(MemoryError error)> on_error;
  std::function<void(std::uint64_t uncounted)> on_uncounted;
  // Behind them, once a pass that had errors: the time for retest().
  std::function<void()> on_errors_seen;

  // Bytes that one iteration moves, and how often it leaves the data alone for hold_ns.
  std::uint64_t bytes_per_iteration() const;
  std::uint64_t holds_per_iteration() const;

  enum class Iteration {
    whole,
    out_of_time,  // the deadline came before its last pass
    cancelled,
  };
  // All tests once. The last verification may be left to the next iteration or to finish().
  Iteration iterate(std::uint64_t iteration);
  // False when it was cancelled.
  bool finish();

  // Writes and reads the word's line by itself, `rounds` times; then the line holds again what the
  // next pass expects. For on_errors_seen.
  Retest retest(std::uint64_t offset, std::uint64_t expected, unsigned rounds);

  std::span<const TestFigures> figures() const { return figures_; }
  // Spent so far leaving data alone. From any thread.
  std::int64_t held_ns() const { return held_ns_; }
  // That the pass which runs belongs to; from on_progress and on_error.
  std::uint64_t iteration() const { return iteration_; }

 private:
  struct Pass;
  void plan();
  bool run(const Pass& pass);
  bool run_elements(const Pass& pass);
  bool move_blocks(const Pass& pass);
  void run_step(const BlockStep& step, const Pass& pass, Mismatches& found);
  bool hold();
  void hand_over(const Pass& pass, std::vector<Mismatches>& found);
  template <class Work>
  bool in_pieces(std::size_t piece_lines, Order order, const Work& work);

  std::span<std::byte> region_;
  std::span<const Algorithm> tests_;
  MemoryRunOptions options_;
  WorkerPool& workers_;
  LineHook* hook_;
  std::vector<std::size_t> hooked_;
  const CancelToken& cancel_;
  std::vector<std::vector<LineData>> data_;  // [test][data of the test]
  std::vector<Pass> passes_;                 // of an iteration
  std::unique_ptr<Pass> wrap_;               // the last one and the first one as one; may be null
  bool verification_owed_ = false;
  const LineData* held_ = nullptr;  // what the region holds after the last pass; null: not one data
  std::vector<TestFigures> figures_;
  std::uint64_t iteration_ = 0;
  std::uint64_t pass_number_ = 0;
  std::uint64_t bytes_moved_ = 0;
  std::atomic<std::int64_t> held_ns_{0};
};

}  // namespace assay::probes
