#include "tui/model.h"

#include <algorithm>

#include "base/clock.h"

namespace assay::tui {

using reports::FindingKind;
using reports::FindingRecord;
using reports::StepRecord;
using reports::StepState;

namespace {

constexpr std::int64_t rate_window_ns = 30 * ns_per_s;
// A rate over less than this jumps too much to be shown.
constexpr std::int64_t shortest_rate_ns = ns_per_s;

bool is_over(const StepRecord& step) {
  return step.state != StepState::pending && step.state != StepState::running;
}

}  // namespace

void DashboardModel::apply(const Result<reports::Event>& event, std::uint64_t line) {
  fold_.apply(event, line);
  if (!event || !event->step_id) return;
  const auto* extension = std::get_if<reports::Extension>(&event->payload);
  if (extension == nullptr || extension->name != "assay.progress") return;
  const StepRecord* step = shown_step();
  if (step == nullptr || step->id != *event->step_id) return;
  auto& points = recent_progress_[step->id];
  const std::optional<double> now = fraction(*step);
  if (!now) {
    points.clear();
    return;
  }
  // It began anew: another part of the test, with a pace of its own.
  if (!points.empty() && *now < points.back().fraction) points.clear();
  points.push_back({event->wall_ns, *now});
  while (event->wall_ns - points.front().wall_ns > rate_window_ns) points.pop_front();
}

const StepRecord* DashboardModel::shown_step() const {
  const StepRecord* shown = nullptr;
  const auto rank = [](const StepRecord& s) {
    return std::pair(s.state == StepState::running, s.start_ns);
  };
  for (const StepRecord& step : run().steps) {
    if (step.state == StepState::pending) continue;
    if (shown == nullptr || rank(step) >= rank(*shown)) shown = &step;
  }
  return shown;
}

const FindingRecord* DashboardModel::first_finding() const {
  const FindingRecord* first = nullptr;
  for (const StepRecord& step : run().steps) {
    for (const FindingRecord& finding : step.findings) {
      if (finding.finding.kind == FindingKind::fault) return &finding;
      if (first == nullptr) first = &finding;
    }
  }
  return first;
}

const StepRecord* DashboardModel::step_of(const FindingRecord* finding) const {
  for (const StepRecord& step : run().steps) {
    for (const FindingRecord& one : step.findings) {
      if (&one == finding) return &step;
    }
  }
  return nullptr;
}

std::int64_t DashboardModel::elapsed_ns(std::int64_t now_wall_ns) const {
  if (!run().started) return 0;
  const std::int64_t end = running() ? std::max(now_wall_ns, run().last_ns) : run().last_ns;
  return std::max<std::int64_t>(0, end - run().start_ns);
}

std::int64_t DashboardModel::elapsed_ns(const StepRecord& step, std::int64_t now_wall_ns) const {
  if (step.state == StepState::pending) return 0;
  const std::int64_t end = is_over(step) ? step.end_ns
                           : running()   ? std::max(now_wall_ns, run().last_ns)
                                         : run().last_ns;
  return std::max<std::int64_t>(0, end - step.start_ns);
}

std::optional<std::int64_t> DashboardModel::expected_ns(std::int64_t now_wall_ns) const {
  if (!running() || run().steps.empty()) return std::nullopt;
  double done = 0;
  for (const StepRecord& step : run().steps) {
    if (is_over(step)) done += 1;
    if (step.state == StepState::running) done += fraction(step).value_or(0);
  }
  const double part = done / static_cast<double>(run().steps.size());
  if (part < 0.05) return std::nullopt;
  return static_cast<std::int64_t>(static_cast<double>(elapsed_ns(now_wall_ns)) / part);
}

std::optional<double> DashboardModel::fraction(const StepRecord& step) {
  if (step.progress.total == 0) return std::nullopt;
  return std::min(
      1.0, static_cast<double>(step.progress.done) / static_cast<double>(step.progress.total));
}

std::optional<double> DashboardModel::fraction_per_second(const StepRecord& step) const {
  const auto found = recent_progress_.find(step.id);
  if (found == recent_progress_.end() || found->second.empty()) return std::nullopt;
  const ProgressPoint& first = found->second.front();
  const ProgressPoint& last = found->second.back();
  const std::int64_t time = last.wall_ns - first.wall_ns;
  if (time < shortest_rate_ns || last.fraction <= first.fraction) return std::nullopt;
  return (last.fraction - first.fraction) * 1e9 / static_cast<double>(time);
}

std::optional<std::int64_t> DashboardModel::remaining_ns(const StepRecord& step) const {
  const auto done = fraction(step);
  const auto rate = fraction_per_second(step);
  if (!done || !rate) return std::nullopt;
  // A pace that needs more than a hundred days says nothing.
  const double seconds = std::min((1 - *done) / *rate, 1e7);
  return static_cast<std::int64_t>(seconds * 1e9);
}

}  // namespace assay::tui
