// What the screen shows of a run: the fold of its journal, and what follows from the events' stamps
// (rates, times to go). No clock and no terminal: the same events and the same `now` give the same
// screen.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "reports/summary/run_summary.h"

namespace assay::tui {

class DashboardModel {
 public:
  void apply(const Result<reports::Event>& event, std::uint64_t line);
  // The journal's writer adds nothing more. Errors: those of RunFold::finish().
  Result<> finish(std::string_view unfinished) {
    growing_ = false;
    return fold_.finish(unfinished);
  }

  const reports::RunSummary& run() const { return fold_.summary(); }
  reports::Verdict verdict() const { return verdict_of(run(), growing_); }
  bool running() const { return growing_ && !run().ended; }

  // The step to show: the one that began last and still runs; between two steps the last that
  // began. Null before the first.
  const reports::StepRecord* shown_step() const;
  // The first fault of the run, else the first observation; null when there is none.
  const reports::FindingRecord* first_finding() const;
  const reports::StepRecord* step_of(const reports::FindingRecord* finding) const;

  // `now_wall_ns` counts only while the run goes on. Never negative.
  std::int64_t elapsed_ns(std::int64_t now_wall_ns) const;
  std::int64_t elapsed_ns(const reports::StepRecord& step, std::int64_t now_wall_ns) const;
  // How long the whole run will have taken. Rough: every step counts the same.
  std::optional<std::int64_t> expected_ns(std::int64_t now_wall_ns) const;

  // 0..1, when the step knows how much there is to do.
  static std::optional<double> fraction(const reports::StepRecord& step);
  // Of the total in a second, over the last half minute of progress.
  std::optional<double> fraction_per_second(const reports::StepRecord& step) const;
  std::optional<std::int64_t> remaining_ns(const reports::StepRecord& step) const;

 private:
  struct ProgressPoint {
    std::int64_t wall_ns;
    double fraction;
  };

  reports::RunFold fold_;
  std::unordered_map<std::string, std::deque<ProgressPoint>> recent_progress_;
  bool growing_ = true;
};

}  // namespace assay::tui
