// The panels that a screen is made of. Each draws into the area given and never beyond it.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>

#include "tui/canvas.h"
#include "tui/layout.h"
#include "tui/model.h"

namespace assay::tui {

// A rectangle of a canvas with coordinates of its own.
class Area {
 public:
  Area(Canvas& canvas, const Rect& rect) : canvas_(&canvas), rect_(rect) {}

  int rows() const { return rect_.rows; }
  int cols() const { return rect_.cols; }
  bool utf8() const { return canvas_->utf8(); }
  bool empty() const { return rect_.empty(); }

  // Clipped to the area. Returns the cells used.
  int put(int row, int col, std::string_view text, Role role = Role::normal) const;
  // Text that does not fit ends in an ellipsis.
  void put_short(int row, int col, std::string_view text, Role role = Role::normal) const;
  // Draws a border with a title and returns what is inside.
  Area framed(std::string_view title) const;

 private:
  Canvas* canvas_;
  Rect rect_;
};

// A sign that differs by shape and not by colour alone; in ASCII a word.
std::string_view mark_of(reports::StepState state, bool utf8);
std::string_view mark_of(reports::Verdict verdict, bool utf8);
Role role_of(reports::StepState state);
Role role_of(reports::Verdict verdict);

// `width` cells, filled in proportion.
std::string bar_text(double fraction, int width, bool utf8);
// The last `width` samples, scaled between the least and the greatest of them.
std::string sparkline(const std::deque<double>& samples, int width, bool utf8);

void draw_header(const Area& area, const DashboardModel& model, std::int64_t now_wall_ns);
void draw_verdict(const Area& area, const DashboardModel& model);
void draw_plan(const Area& area, const DashboardModel& model, std::int64_t now_wall_ns);
void draw_step(const Area& area, const DashboardModel& model, std::int64_t now_wall_ns);
// Once the run has ended: why it is that verdict, and what to do.
void draw_reason(const Area& area, const DashboardModel& model);
void draw_log(const Area& area, const DashboardModel& model);

}  // namespace assay::tui
