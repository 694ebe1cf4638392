#include "tui/glyph.h"

#include <algorithm>
#include <array>

#include "base/utf8.h"

namespace assay::tui {
namespace {

struct Range {
  char32_t first;
  char32_t last;
};

// Characters that take no cell: combining marks, joiners, direction marks, variation selectors.
constexpr std::array<Range, 46> zero_width = {{
    {0x00AD, 0x00AD},   {0x0300, 0x036F},   {0x0483, 0x0489},   {0x0591, 0x05BD},
    {0x05BF, 0x05BF},   {0x05C1, 0x05C2},   {0x05C4, 0x05C5},   {0x05C7, 0x05C7},
    {0x0600, 0x0605},   {0x0610, 0x061A},   {0x061C, 0x061C},   {0x064B, 0x065F},
    {0x0670, 0x0670},   {0x06D6, 0x06DD},   {0x06DF, 0x06E4},   {0x06E7, 0x06E8},
    {0x06EA, 0x06ED},   {0x0711, 0x0711},   {0x0730, 0x074A},   {0x0900, 0x0902},
    {0x093A, 0x093A},   {0x093C, 0x093C},   {0x0941, 0x0948},   {0x094D, 0x094D},
    {0x0951, 0x0957},   {0x0E31, 0x0E31},   {0x0E34, 0x0E3A},   {0x0E47, 0x0E4E},
    {0x1160, 0x11FF},   {0x1AB0, 0x1ACE},   {0x1DC0, 0x1DFF},   {0x200B, 0x200F},
    {0x2028, 0x202E},   {0x2060, 0x2064},   {0x2066, 0x206F},   {0x20D0, 0x20F0},
    {0x302A, 0x302D},   {0x3099, 0x309A},   {0xFE00, 0xFE0F},   {0xFE20, 0xFE2F},
    {0xFEFF, 0xFEFF},   {0xFFF9, 0xFFFB},   {0x1D167, 0x1D169}, {0x1D173, 0x1D182},
    {0xE0000, 0xE007F}, {0xE0100, 0xE01EF},
}};

// East Asian wide and fullwidth characters, and emoji.
constexpr std::array<Range, 44> wide = {{
    {0x1100, 0x115F}, {0x231A, 0x231B}, {0x2329, 0x232A}, {0x23E9, 0x23EC},   {0x23F0, 0x23F0},
    {0x23F3, 0x23F3}, {0x25FD, 0x25FE}, {0x2614, 0x2615}, {0x2648, 0x2653},   {0x267F, 0x267F},
    {0x2693, 0x2693}, {0x26A1, 0x26A1}, {0x26AA, 0x26AB}, {0x26BD, 0x26BE},   {0x26C4, 0x26C5},
    {0x26CE, 0x26CE}, {0x26D4, 0x26D4}, {0x26EA, 0x26EA}, {0x26F2, 0x26F3},   {0x26F5, 0x26F5},
    {0x26FA, 0x26FA}, {0x26FD, 0x26FD}, {0x2705, 0x2705}, {0x270A, 0x270B},   {0x2728, 0x2728},
    {0x274C, 0x274C}, {0x274E, 0x274E}, {0x2753, 0x2755}, {0x2757, 0x2757},   {0x2795, 0x2797},
    {0x27B0, 0x27B0}, {0x27BF, 0x27BF}, {0x2B1B, 0x2B1C}, {0x2E80, 0x303E},   {0x3041, 0x33FF},
    {0x3400, 0x4DBF}, {0x4E00, 0xA4CF}, {0xA960, 0xA97C}, {0xAC00, 0xD7A3},   {0xF900, 0xFAFF},
    {0xFE30, 0xFE6F}, {0xFF00, 0xFF60}, {0xFFE0, 0xFFE6}, {0x1F300, 0x3FFFD},
}};

template <std::size_t n>
bool contains(const std::array<Range, n>& ranges, char32_t character) {
  const auto after =
      std::upper_bound(ranges.begin(), ranges.end(), character,
                       [](char32_t value, const Range& range) { return value < range.first; });
  return after != ranges.begin() && character <= std::prev(after)->last;
}

// The combining ones of those without width: they join the character before them.
bool combines(char32_t c) {
  return width_of(c) == 0 && c != 0x00AD && !(c >= 0x0600 && c <= 0x0605) && c != 0x061C &&
         !(c >= 0x200B && c <= 0x206F) && c < 0xE0000 && c != 0xFEFF &&
         !(c >= 0xFFF9 && c <= 0xFFFB) && !(c >= 0xFE00 && c <= 0xFE0F);
}

// In one cell. A pile of a thousand marks is no text.
constexpr std::size_t most_characters = 4;

// Takes the first character off text that is known to be valid UTF-8.
char32_t take(std::string_view& text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte(0);
  const std::size_t length = first < 0x80 ? 1 : first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4;
  char32_t character = length == 1 ? first : first & (0x7F >> length);
  for (std::size_t i = 1; i < length; ++i) character = (character << 6) | (byte(i) & 0x3F);
  text.remove_prefix(length);
  return character;
}

}  // namespace

int width_of(char32_t character) {
  if (character < 0x300 && character != 0xAD) return 1;
  if (contains(zero_width, character)) return 0;
  return contains(wide, character) ? 2 : 1;
}

std::vector<Glyph> split_glyphs(std::string_view text, int cells) {
  // Bytes of a character with as many marks as a cell holds.
  constexpr std::size_t most_bytes = 4 * most_characters;
  const auto needed = static_cast<std::size_t>(std::max(0, cells));
  if (needed < text.size() / most_bytes) text = text.substr(0, (needed + 1) * most_bytes);
  const std::string printable = to_printable(text);
  std::vector<Glyph> glyphs;
  glyphs.reserve(std::min(printable.size(), needed));
  int used = 0;
  for (std::string_view rest = printable; !rest.empty();) {
    const char32_t character = take(rest);
    const int width = width_of(character);
    if (width > 0) {
      if (used >= cells) break;
      used += width;
      glyphs.push_back({std::u32string(1, character), width});
    } else if (combines(character) && !glyphs.empty() &&
               glyphs.back().text.size() < most_characters) {
      glyphs.back().text.push_back(character);
    }
  }
  return glyphs;
}

int text_width(std::string_view text) {
  int width = 0;
  for (const Glyph& glyph : split_glyphs(text)) width += glyph.width;
  return width;
}

std::string to_utf8(std::u32string_view text) {
  std::string bytes;
  for (const char32_t c : text) {
    if (c < 0x80) {
      bytes += static_cast<char>(c);
    } else if (c < 0x800) {
      bytes += static_cast<char>(0xC0 | (c >> 6));
      bytes += static_cast<char>(0x80 | (c & 0x3F));
    } else if (c < 0x10000) {
      bytes += static_cast<char>(0xE0 | (c >> 12));
      bytes += static_cast<char>(0x80 | ((c >> 6) & 0x3F));
      bytes += static_cast<char>(0x80 | (c & 0x3F));
    } else {
      bytes += static_cast<char>(0xF0 | (c >> 18));
      bytes += static_cast<char>(0x80 | ((c >> 12) & 0x3F));
      bytes += static_cast<char>(0x80 | ((c >> 6) & 0x3F));
      bytes += static_cast<char>(0x80 | (c & 0x3F));
    }
  }
  return bytes;
}

std::string to_ascii(std::string_view text, int cells) {
  // What the screen and the probes write themselves stays readable.
  static constexpr std::u32string_view known = U"°·…⇑⇓–—×µ▶";
  static constexpr std::string_view instead = " ..^v--xu>";
  std::string ascii;
  for (const Glyph& glyph : split_glyphs(text, cells)) {
    const char32_t c = glyph.text[0];
    if (c < 0x80) {
      ascii += static_cast<char>(c);
    } else if (const auto at = known.find(c); at != known.npos) {
      ascii += instead[at];
    } else {
      ascii.append(static_cast<std::size_t>(glyph.width), '?');
    }
  }
  return ascii;
}

std::string shorten(std::string_view text, int width, bool utf8) {
  const std::vector<Glyph> glyphs = split_glyphs(text, width + 1);
  int whole = 0;
  for (const Glyph& glyph : glyphs) whole += glyph.width;
  const std::string_view end = whole <= width ? "" : utf8 ? "…" : "..";
  const int end_width = text_width(end);
  const bool has_end = end_width <= width;
  const int room = has_end ? width - end_width : width;
  std::string kept;
  int used = 0;
  for (const Glyph& glyph : glyphs) {
    if (used + glyph.width > room) break;
    used += glyph.width;
    kept += to_utf8(glyph.text);
  }
  if (has_end) kept += end;
  return kept;
}

std::string pad_right(std::string text, int width) {
  text.append(static_cast<std::size_t>(std::max(0, width - text_width(text))), ' ');
  return text;
}

std::string pad_left(std::string text, int width) {
  return std::string(static_cast<std::size_t>(std::max(0, width - text_width(text))), ' ') + text;
}

std::vector<std::string> wrap(std::string_view text, int width) {
  width = std::max(width, 2);  // the widest glyph
  const std::vector<Glyph> glyphs = split_glyphs(text);
  std::vector<std::string> lines;
  std::size_t begin = 0;
  while (begin < glyphs.size()) {
    std::size_t end = begin;
    std::size_t space = begin;  // the last one at which the line may break
    int used = 0;
    while (end < glyphs.size() && used + glyphs[end].width <= width) {
      used += glyphs[end].width;
      if (glyphs[end].text == U" ") space = end;
      ++end;
    }
    // A space right behind the line is a place to break too.
    if (end < glyphs.size() && glyphs[end].text != U" " && space > begin) end = space;
    std::string line;
    for (std::size_t i = begin; i < end; ++i) line += to_utf8(glyphs[i].text);
    while (line.size() > 1 && line.back() == ' ') line.pop_back();
    lines.push_back(std::move(line));
    begin = end;
    while (begin < glyphs.size() && glyphs[begin].text == U" ") ++begin;
  }
  if (lines.empty()) lines.emplace_back();
  return lines;
}

}  // namespace assay::tui
