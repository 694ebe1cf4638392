#include "tui/view.h"

#include <fmt/core.h>

#include <algorithm>
#include <string>
#include <vector>

#include "base/units.h"
#include "base/utf8.h"
#include "tui/layout.h"
#include "tui/panels.h"
#include "tui/text.h"

namespace assay::tui {
namespace {

void draw_body(Canvas& canvas, const Rect& rect, bool framed, const DashboardModel& model,
               std::int64_t now) {
  const Area area(canvas, rect);
  const bool ended = !model.running();
  const reports::StepRecord* step = model.shown_step();
  std::string title = ended ? "Result" : step != nullptr ? to_printable(step->id) : "Run";
  const Area inside = framed ? area.framed(title) : area;
  if (ended) {
    draw_reason(inside, model);
  } else {
    draw_step(inside, model, now);
  }
}

}  // namespace

void draw_header(const Area& area, const DashboardModel& model, std::int64_t now) {
  if (area.empty()) return;
  const reports::RunSummary& run = model.run();
  const reports::Verdict verdict = model.verdict();
  std::string time = format_hms(model.elapsed_ns(now));
  if (const auto expected = model.expected_ns(now)) {
    time += " / ~" + format_hms(*expected);
  }
  const std::string word =
      fmt::format("{} {}", mark_of(verdict, area.utf8()), reports::to_word(verdict));
  int right = area.cols() - text_width(word) - 1;
  const int time_col = right - text_width(time) - 3;
  constexpr int shortest_left = 8;
  if (right < shortest_left) right = 0;
  area.put(0, right, word, role_of(verdict));
  int room = right;
  if (time_col >= shortest_left) {
    area.put(0, time_col, time);
    room = time_col;
  }

  // Where the room is short the serial number stays longest: it says which board this is.
  struct Part {
    std::string label;
    std::string text;
    int worth;
  };
  std::vector<Part> parts = {{"", board_name(run), 3},
                             {"SN ", serial_number(run), 5},
                             {"op ", run.parameter("operator"), 1},
                             {"station ", run.parameter("station"), 2},
                             {"plan ", run.parameter("plan", "id"), 4}};
  std::erase_if(parts, [](const Part& p) { return p.text.empty(); });
  const auto width = [&] {
    int sum = 7;
    for (const Part& p : parts) sum += 2 + text_width(p.label) + text_width(p.text);
    return sum;
  };
  while (parts.size() > 1 && width() > room) {
    parts.erase(std::min_element(parts.begin(), parts.end(),
                                 [](const Part& a, const Part& b) { return a.worth < b.worth; }));
  }
  if (room < shortest_left) return;
  int col = 1;
  col += area.put(0, col, "ASSAY", Role::title);
  for (const Part& part : parts) {
    col += 2;
    const int left = room - 1 - col - text_width(part.label);
    if (left < 4) break;
    col += area.put(0, col, part.label, Role::dim);
    col += area.put(0, col, shorten(part.text, left, area.utf8()));
  }
}

void draw_log(const Area& area, const DashboardModel& model) {
  const auto& logs = model.run().logs;
  const int count = std::min(area.rows(), static_cast<int>(logs.size()));
  for (int i = 0; i < count; ++i) {
    const reports::LogRecord& log = logs[logs.size() - static_cast<std::size_t>(count - i)];
    int col = area.put(i, 0, clock_text(log.wall_ns) + " ", Role::dim);
    if (!log.step_id.empty()) col += area.put(i, col, log.step_id + "  ", Role::accent);
    Role role = Role::normal;
    if (log.severity >= reports::Severity::error) {
      role = Role::fail;
      col += area.put(i, col, "error ", role);
    } else if (log.severity == reports::Severity::warning) {
      role = Role::warn;
      col += area.put(i, col, "warning ", role);
    }
    area.put_short(i, col, log.message, role);
  }
}

void draw(Canvas& canvas, const DashboardModel& model, std::int64_t now, std::string_view keys) {
  const Moment moment = model.running() ? Moment::running : Moment::ended;
  const Layout layout = lay_out(canvas.rows(), canvas.cols(), moment);
  draw_header(Area(canvas, layout.header), model, now);
  draw_verdict(Area(canvas, layout.verdict), model);
  if (!layout.plan.empty()) draw_plan(Area(canvas, layout.plan).framed("Plan"), model, now);
  if (!layout.step.empty()) draw_body(canvas, layout.step, layout.framed, model, now);
  if (!layout.log.empty()) draw_log(Area(canvas, layout.log).framed("Log"), model);
  Area(canvas, layout.keys).put_short(0, 1, keys, Role::dim);
}

}  // namespace assay::tui
