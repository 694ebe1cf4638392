#include "base/utf8.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <random>
#include <string>

namespace assay {
namespace {

constexpr const char* replacement = "\xEF\xBF\xBD";

// Decodes by the bit layout of Unicode 15, table 3-6, and checks the code point: another way than
// the table of byte ranges that the code under test goes by.
bool is_valid_utf8(std::string_view text) {
  for (std::size_t i = 0; i < text.size();) {
    const auto lead = static_cast<std::uint8_t>(text[i]);
    int more = 0;
    std::uint32_t code = lead;
    if (lead >= 0x80) {
      if (lead >> 5 == 0x6) more = 1;
      if (lead >> 4 == 0xE) more = 2;
      if (lead >> 3 == 0x1E) more = 3;
      if (more == 0) return false;
      code = lead & (0x3Fu >> more);
    }
    if (i + static_cast<std::size_t>(more) >= text.size()) return false;
    for (int k = 1; k <= more; ++k) {
      const auto byte = static_cast<std::uint8_t>(text[i + static_cast<std::size_t>(k)]);
      if (byte >> 6 != 0x2) return false;
      code = code << 6 | (byte & 0x3Fu);
    }
    constexpr std::uint32_t least[] = {0, 0x80, 0x800, 0x10000};
    if (code < least[more] || code > 0x10FFFF || (code >= 0xD800 && code <= 0xDFFF)) return false;
    i += static_cast<std::size_t>(more) + 1;
  }
  return true;
}

std::string encode(std::uint32_t code) {
  const auto byte = [](std::uint32_t v) { return static_cast<char>(v); };
  if (code < 0x80) return {byte(code)};
  if (code < 0x800) return {byte(0xC0 | code >> 6), byte(0x80 | (code & 0x3F))};
  if (code < 0x10000) {
    return {byte(0xE0 | code >> 12), byte(0x80 | (code >> 6 & 0x3F)), byte(0x80 | (code & 0x3F))};
  }
  return {byte(0xF0 | code >> 18), byte(0x80 | (code >> 12 & 0x3F)),
          byte(0x80 | (code >> 6 & 0x3F)), byte(0x80 | (code & 0x3F))};
}

std::string times(std::size_t n) {
  std::string text;
  for (std::size_t i = 0; i < n; ++i) text += replacement;
  return text;
}

TEST(Utf8, keepsEveryCodePointAndReplacesSurrogates) {
  for (std::uint32_t code = 0; code <= 0x10FFFF; ++code) {
    const std::string text = encode(code);
    const bool surrogate = code >= 0xD800 && code <= 0xDFFF;
    ASSERT_EQ(to_valid_utf8(text), surrogate ? times(3) : text) << std::hex << code;
  }
}

TEST(Utf8, replacesEachByteThatIsNoPartOfACharacter) {
  const struct {
    std::string bytes;
    std::size_t replaced;
  } cases[] = {
      {"\x80", 1},                  // a continuation alone
      {"\xBF", 1},                  //
      {"\xC0\x80", 2},              // overlong NUL
      {"\xC1\xBF", 2},              // overlong U+007F
      {"\xE0\x9F\xBF", 3},          // overlong U+07FF
      {"\xF0\x8F\xBF\xBF", 4},      // overlong U+FFFF
      {"\xED\xA0\x80", 3},          // U+D800
      {"\xED\xBF\xBF", 3},          // U+DFFF
      {"\xF4\x90\x80\x80", 4},      // U+110000
      {"\xF5\x80\x80\x80", 4},      //
      {"\xF8\x88\x80\x80\x80", 5},  // five bytes, of RFC 2279
      {"\xFE\xFF", 2},              // a UTF-16 byte order mark
      {"\xC2", 1},                  // cut
      {"\xE2\x82", 2},              //
      {"\xF0\x9F\x98", 3},          //
  };
  for (const auto& c : cases) {
    EXPECT_EQ(to_valid_utf8(c.bytes), times(c.replaced));
    EXPECT_EQ(to_valid_utf8("a" + c.bytes + "b"), "a" + times(c.replaced) + "b");
    EXPECT_FALSE(is_valid_utf8(c.bytes));
  }
}

TEST(Utf8, aCutCharacterDoesNotSwallowTheNext) {
  EXPECT_EQ(to_valid_utf8("\xE2\x82"
                          "A"),
            times(2) + "A");
  EXPECT_EQ(to_valid_utf8("\xF0\x9F\xE2\x82\xAC"), times(2) + "\xE2\x82\xAC");
}

TEST(Utf8, keepsNulAndControlsButPrintsThemEscaped) {
  const std::string controls("a\0\t\n\r\x1B[2J\x7F z", 12);
  EXPECT_EQ(to_valid_utf8(controls), controls);
  EXPECT_EQ(to_printable(controls), "a\\x00\\x09\\x0A\\x0D\\x1B[2J\\x7F z");
  // C1: 8-bit CSI as the two bytes of its UTF-8.
  EXPECT_EQ(to_printable("\xC2\x80\xC2\x9B"
                         "31m\xC2\x9F"),
            "\\x80\\x9B31m\\x9F");
  EXPECT_EQ(to_printable("\xC2\xA0 \xC3\xA9 \xE2\x82\xAC"), "\xC2\xA0 \xC3\xA9 \xE2\x82\xAC");
  // The bare byte is no UTF-8 at all.
  EXPECT_EQ(to_printable("\x9B"), times(1));
}

TEST(Utf8, anyBytesBecomeValidAndStayAsTheyAre) {
  std::mt19937 random(20260712);
  // Bytes that begin, continue or break characters come more often than others.
  const std::string likely(
      "\x00\x1B\x7F\x80\x8F\x90\x9F\xA0\xBF\xC0\xC2\xDF\xE0\xED\xEF\xF0\xF4\xF5\xFF", 19);
  for (int round = 0; round < 20'000; ++round) {
    std::string bytes(random() % 40, '\0');
    for (char& c : bytes) {
      c = random() % 2 == 0 ? likely[random() % likely.size()] : static_cast<char>(random());
    }
    const std::string text = to_valid_utf8(bytes);
    ASSERT_TRUE(is_valid_utf8(text));
    ASSERT_EQ(to_valid_utf8(text), text);
    if (is_valid_utf8(bytes)) {
      ASSERT_EQ(text, bytes);
    }
    const std::string printable = to_printable(bytes);
    ASSERT_TRUE(is_valid_utf8(printable));
    ASSERT_EQ(to_printable(printable), printable);
    for (const char c : printable) {
      ASSERT_FALSE(static_cast<std::uint8_t>(c) < 0x20 || c == 0x7F);
    }
  }
}

}  // namespace
}  // namespace assay
