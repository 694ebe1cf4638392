#include "tui/layout.h"

#include <algorithm>

namespace assay::tui {
namespace {

constexpr int big_rows = 5;

// Too small for panels side by side: the word that counts first, then the step, then who and what.
Layout lay_out_small(int rows, int cols, Moment moment) {
  Layout layout;
  int row = 0;
  const auto take = [&](int wanted) {
    const int taken = std::clamp(wanted, 0, rows - row);
    const Rect rect{row, 0, taken, cols};
    row += taken;
    return rect;
  };
  if (rows >= 3) layout.header = take(1);
  layout.verdict = take(moment == Moment::ended && rows >= 10 ? big_rows : 1);
  layout.step = take(rows >= 6 ? rows - row - 1 : rows - row);
  layout.keys = take(1);
  return layout;
}

}  // namespace

Layout lay_out(int rows, int cols, Moment moment) {
  if (rows <= 0 || cols <= 0) return {};
  if (rows < 15 || cols < 60) return lay_out_small(rows, cols, moment);

  const bool roomy = rows >= 30 && cols >= 100;
  Layout layout;
  layout.framed = true;
  layout.header = {0, 0, 1, cols};
  layout.keys = {rows - 1, 0, 1, cols};
  int top = 1;
  int bottom = rows - 1;
  if (moment == Moment::ended) {
    // A blank line above and below where there is room.
    const int height = big_rows + (roomy ? 2 : 0);
    layout.verdict = {top, 0, height, cols};
    top += height;
  }
  // Lines of the log, with its border. Once ended, a small screen is for the finding.
  const int log_rows = roomy ? std::min(rows / 4, 12) : moment == Moment::ended ? 0 : 3 + 2;
  layout.log = {bottom - log_rows, 0, log_rows, cols};
  bottom -= log_rows;
  const int plan_cols = roomy ? std::clamp(cols / 3, 39, 56) : moment == Moment::ended ? 28 : 32;
  layout.plan = {top, 0, bottom - top, plan_cols};
  layout.step = {top, plan_cols, bottom - top, cols - plan_cols};
  return layout;
}

}  // namespace assay::tui
