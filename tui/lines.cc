#include "tui/lines.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "base/clock.h"
#include "base/units.h"
#include "base/utf8.h"
#include "tui/glyph.h"
#include "tui/text.h"

namespace assay::tui {

using reports::StepRecord;
using reports::StepState;

namespace {

constexpr std::int64_t progress_interval_ns = 2 * ns_per_s;

std::string progress_text(const DashboardModel& model, const StepRecord& step) {
  std::string text;
  if (const auto fraction = DashboardModel::fraction(step)) {
    text += fmt::format("{:3.0f} %  ", *fraction * 100);
  }
  text += to_printable(step.progress.text);
  if (const auto left = model.remaining_ns(step)) {
    text += fmt::format("  ~{} left", format_seconds(*left));
  }
  return text;
}

}  // namespace

void LinePrinter::add(const std::string& line) {
  out_ += utf8_ ? to_printable(line) : to_ascii(line);
  out_ += '\n';
}

std::string LinePrinter::update(const DashboardModel& model, std::int64_t now_wall_ns) {
  const reports::RunSummary& run = model.run();
  if (run.started && !std::exchange(header_printed_, true)) {
    for (const std::string& line : run_header(run)) add(line);
    for (const StepRecord& step : run.steps) id_width_ = std::max(id_width_, text_width(step.id));
    id_width_ = std::min(id_width_, line_width / 3);
    last_progress_ns_ = now_wall_ns;
  }
  print_warnings(run);
  printed_.resize(std::max(printed_.size(), run.steps.size()));
  for (std::size_t i = 0; i < run.steps.size(); ++i) {
    print_step(model, run.steps[i], printed_[i], now_wall_ns);
  }
  for (; errors_printed_ < run.errors.size(); ++errors_printed_) {
    const auto& error = run.errors[errors_printed_];
    add(fmt::format("ERROR {}: {}", error.symptom, error.message));
  }
  return std::exchange(out_, {});
}

// What went wrong and what was found stand with their step; other log lines are for the dashboard.
void LinePrinter::print_warnings(const reports::RunSummary& run) {
  const std::uint64_t kept_from = run.log_count - run.logs.size();
  for (std::uint64_t i = std::max(logs_seen_, kept_from); i < run.log_count; ++i) {
    const reports::LogRecord& log = run.logs[i - kept_from];
    if (log.severity != reports::Severity::warning) continue;
    add(fmt::format("WARN  {}{}{}", log.step_id, log.step_id.empty() ? "" : "  ", log.message));
  }
  logs_seen_ = run.log_count;
}

void LinePrinter::print_step(const DashboardModel& model, const StepRecord& step, Printed& printed,
                             std::int64_t now_wall_ns) {
  if (step.state == StepState::pending || printed.ended) return;
  if (!std::exchange(printed.begun, true) && step.state == StepState::running) {
    add(fmt::format("{:<5} {}", "START", step.id));
  }
  for (; printed.findings < step.findings.size(); ++printed.findings) {
    for (const std::string& line : finding_text(step, step.findings[printed.findings].finding)) {
      add(line);
    }
  }
  if (step.state != StepState::running) {
    printed.ended = true;
    add(step_text(step, id_width_));
    for (const std::string& line : step_remarks(step)) add(line);
    return;
  }
  const bool says_something = step.progress.total != 0 || !step.progress.text.empty();
  if (says_something && now_wall_ns - last_progress_ns_ >= progress_interval_ns) {
    last_progress_ns_ = now_wall_ns;
    // A step that stands still is not news.
    std::string text = "      " + progress_text(model, step);
    if (text != last_progress_) add(text);
    last_progress_ = std::move(text);
  }
}

}  // namespace assay::tui
