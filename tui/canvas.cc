#include "tui/canvas.h"

#include <algorithm>

namespace assay::tui {

int Canvas::put(int row, int col, std::string_view text, Role role, int width) {
  if (row < 0 || row >= rows_ || col >= cols_ || width <= 0) return 0;
  const int end = width < cols_ - col ? col + width : cols_;
  const int cells = end - col;
  const std::string ascii = utf8_ ? std::string() : to_ascii(text, cells);
  static const Glyph blank{U" ", 1};
  int at = col;
  for (const Glyph& glyph : split_glyphs(utf8_ ? text : ascii, cells)) {
    if (at >= end) break;
    const int next = at + glyph.width;
    if (at >= 0 && next <= end) {
      set(row, at, glyph, role);
    } else {
      // Half of a wide character is inside: its cell stays empty.
      for (int cell = std::max(at, 0); cell < std::min(next, end); ++cell) {
        set(row, cell, blank, role);
      }
    }
    at = std::min(next, end);
  }
  return std::max(0, at - std::max(col, 0));
}

MemoryCanvas::MemoryCanvas(int rows, int cols, bool utf8)
    : Canvas(rows, cols, utf8), cells_(static_cast<std::size_t>(rows * cols)) {}

void MemoryCanvas::set(int row, int col, const Glyph& glyph, Role role) {
  // What loses one half loses the other too.
  if (at(row, col).text.empty() && col > 0) at(row, col - 1).text = " ";
  const int behind = col + glyph.width;
  if (behind < cols() && at(row, behind).text.empty()) at(row, behind).text = " ";
  at(row, col) = {to_utf8(glyph.text), role};
  if (glyph.width == 2) at(row, col + 1) = {"", role};
}

std::string MemoryCanvas::dump() const {
  std::string text;
  for (std::size_t i = 0; i < cells_.size(); ++i) {
    text += cells_[i].text;
    if ((i + 1) % static_cast<std::size_t>(cols()) == 0) text += '\n';
  }
  return text;
}

Role MemoryCanvas::role_at(int row, int col) const {
  return cells_[static_cast<std::size_t>(row * cols() + col)].role;
}

}  // namespace assay::tui
