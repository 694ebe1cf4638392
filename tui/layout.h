// Where things lie on a screen of any size.
#pragma once

namespace assay::tui {

struct Rect {
  int row = 0;
  int col = 0;
  int rows = 0;
  int cols = 0;
  bool empty() const { return rows <= 0 || cols <= 0; }
};

enum class Moment {
  running,
  ended,  // the verdict takes the upper part, and the step's panel shows why
};

// An empty rectangle is not drawn. None overlaps another, none leaves the screen.
struct Layout {
  bool framed = false;  // plan, step and log have a border and a title
  Rect header;          // one line
  Rect verdict;         // one line, or five and more for the big letters
  Rect plan;
  Rect step;  // the running step; why it is that verdict, once the run has ended
  Rect log;
  Rect keys;  // one line
};

Layout lay_out(int rows, int cols, Moment moment);

}  // namespace assay::tui
