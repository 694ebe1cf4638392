// Text as the cells of a terminal see it. The widths come from a table of our own and not from
// wcwidth(), so that a screen is the same in every locale, and in tests.
#pragma once

#include <climits>
#include <string>
#include <string_view>
#include <vector>

namespace assay::tui {

struct Glyph {
  std::u32string text;  // a character and the combining ones behind it
  int width = 1;        // cells: 1 or 2
};

// Cells that a character takes: 0 for combining and invisible ones, 2 for wide ones.
int width_of(char32_t character);

// Makes the text printable first. Characters that only steer (joiners, bidirectional overrides) are
// dropped: they could make a line read as something else than it says. Stops where `cells` are
// filled: a message of a megabyte costs no more than what is seen of it.
std::vector<Glyph> split_glyphs(std::string_view text, int cells = INT_MAX);

int text_width(std::string_view text);

std::string to_utf8(std::u32string_view text);

// As many cells as before. A few signs get the ASCII one that is most like them, others '?'.
std::string to_ascii(std::string_view text, int cells = INT_MAX);

// At most `width` cells; what is cut off ends in ".." or, with `utf8`, in an ellipsis.
std::string shorten(std::string_view text, int width, bool utf8);
// Filled up with spaces on the right or on the left; never cut.
std::string pad_right(std::string text, int width);
std::string pad_left(std::string text, int width);

// Lines of at most `width` cells, broken at spaces where there are any. At least one line.
std::vector<std::string> wrap(std::string_view text, int width);

}  // namespace assay::tui
