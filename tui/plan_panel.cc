#include <fmt/core.h>

#include <algorithm>
#include <string>

#include "base/units.h"
#include "base/utf8.h"
#include "tui/panels.h"

namespace assay::tui {

using reports::StepRecord;
using reports::StepState;

namespace {

std::string result_text(const StepRecord& step) {
  switch (step.state) {
    case StepState::pending:
      return {};
    case StepState::running:
      if (const auto fraction = DashboardModel::fraction(step)) {
        return fmt::format("{:.0f} %", *fraction * 100);
      }
      return {};
    case StepState::pass:
    case StepState::fail:
      return to_printable(step.headline);
    case StepState::error:
    case StepState::skip:
      return reports::to_word(step.state);
  }
  return {};
}

}  // namespace

void draw_plan(const Area& area, const DashboardModel& model, std::int64_t now) {
  const auto& steps = model.run().steps;
  const int count = static_cast<int>(steps.size());
  // The step that runs stays in sight, with what comes next below it.
  const StepRecord* shown = model.shown_step();
  const int current = shown == nullptr ? 0 : static_cast<int>(shown - steps.data());
  const int first = std::clamp(current - area.rows() / 2, 0, std::max(0, count - area.rows()));

  constexpr int time_width = 7;
  for (int row = 0; row < area.rows() && first + row < count; ++row) {
    const StepRecord& step = steps[static_cast<std::size_t>(first + row)];
    const Role role = role_of(step.state);
    int col = area.put(row, 0, mark_of(step.state, area.utf8()), role) + 1;
    const Role name_role = step.state == StepState::pending ? Role::dim : Role::normal;
    const std::string name = shorten(step.id, area.cols() - col, area.utf8());
    col += area.put(row, col, name, name_role) + 1;
    if (step.state == StepState::pending) continue;

    const std::string result = result_text(step);
    std::string time = format_seconds(model.elapsed_ns(step, now));
    const int result_room = area.cols() - time_width - 1 - col;
    // Where only one of them has room it is the result.
    const bool both = result_room >= text_width(result);
    if (both) {
      area.put(row, area.cols() - time_width - 1 - text_width(result), result, role);
    } else {
      time = shorten(result, area.cols() - col, area.utf8());
    }
    const int time_col = area.cols() - text_width(time);
    if (time_col >= col) area.put(row, time_col, time, both ? Role::dim : role);
  }
}

}  // namespace assay::tui
