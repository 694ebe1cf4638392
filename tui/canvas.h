// A grid of cells to draw on: the terminal's, or one in memory. Whatever is put, nothing is drawn
// outside, no wide character hangs half over a border, and nothing but printable text arrives.
#pragma once

#include <climits>
#include <string>
#include <string_view>
#include <vector>

#include "tui/glyph.h"

namespace assay::tui {

// What a piece of text is; how that looks is the terminal's business.
enum class Role { normal, title, dim, accent, pass, fail, warn, bar };
inline constexpr int role_count = 8;

class Canvas {
 public:
  // Without `utf8` only ASCII is drawn: other characters become '?'.
  Canvas(int rows, int cols, bool utf8) : rows_(rows), cols_(cols), utf8_(utf8) {}
  virtual ~Canvas() = default;
  Canvas(const Canvas&) = delete;
  Canvas& operator=(const Canvas&) = delete;

  int rows() const { return rows_; }
  int cols() const { return cols_; }
  bool utf8() const { return utf8_; }

  // At most `width` cells from (row, col) on. Returns the cells used, clipped ones not counted.
  int put(int row, int col, std::string_view text, Role role = Role::normal, int width = INT_MAX);

 protected:
  void set_size(int rows, int cols) {
    rows_ = rows;
    cols_ = cols;
  }

 private:
  // The glyph lies within the canvas with all its cells.
  virtual void set(int row, int col, const Glyph& glyph, Role role) = 0;

  int rows_;
  int cols_;
  bool utf8_;
};

class MemoryCanvas : public Canvas {
 public:
  MemoryCanvas(int rows, int cols, bool utf8);

  // One line a row, each as wide as the canvas.
  std::string dump() const;
  Role role_at(int row, int col) const;

 private:
  struct Cell {
    std::string text = " ";  // empty: the right half of a wide character
    Role role = Role::normal;
  };
  void set(int row, int col, const Glyph& glyph, Role role) override;
  Cell& at(int row, int col) { return cells_[static_cast<std::size_t>(row * cols() + col)]; }

  std::vector<Cell> cells_;
};

}  // namespace assay::tui
