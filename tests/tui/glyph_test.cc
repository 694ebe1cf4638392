#include "tui/glyph.h"

#include <gmock/gmock.h>

#include "tui/canvas.h"

namespace assay::tui {
namespace {

using testing::ElementsAre;

TEST(Glyph, WideCharactersTakeTwoCellsAndMarksNone) {
  EXPECT_EQ(text_width("abc"), 3);
  EXPECT_EQ(text_width("测试"), 4);
  EXPECT_EQ(text_width("e\xCC\x81"), 1);          // e and a combining acute
  EXPECT_EQ(text_width("✔ ✘ ▶ · █ ▁ ░ °C"), 16);  // what the screen itself draws with
  EXPECT_EQ(text_width("\xF0\x9F\x98\x80"), 2);
}

TEST(Glyph, ControlBytesAndDirectionOverridesNeverArrive) {
  EXPECT_EQ(to_ascii("a\x1b[31mb"), "a\\x1B[31mb");
  EXPECT_EQ(text_width("a\xE2\x80\xAE"), 1);  // U+202E
  EXPECT_EQ(to_ascii("a\xFFz"), "a?z");
  EXPECT_EQ(to_ascii("测 71 °C"), "?? 71  C");
}

TEST(Glyph, ShortensByCells) {
  EXPECT_EQ(shorten("memory", 6, true), "memory");
  EXPECT_EQ(shorten("memory", 5, true), "memo…");
  EXPECT_EQ(shorten("memory", 5, false), "mem..");
  EXPECT_EQ(shorten("测试测", 4, true), "测…");
  EXPECT_EQ(shorten("memory", 0, true), "");
}

TEST(Glyph, WrapsAtSpacesAndCutsWhatHasNone) {
  EXPECT_THAT(wrap("one two three", 7), ElementsAre("one two", "three"));
  EXPECT_THAT(wrap("abcdefgh", 3), ElementsAre("abc", "def", "gh"));
  EXPECT_THAT(wrap("测试测试", 5), ElementsAre("测试", "测试"));
  EXPECT_THAT(wrap("", 5), ElementsAre(""));
  EXPECT_THAT(wrap("测", 0), ElementsAre("测"));
}

TEST(Canvas, ClipsAtItsBordersAndNeverCutsAWideCharacter) {
  MemoryCanvas canvas(1, 4, true);
  EXPECT_EQ(canvas.put(0, 1, "测试"), 3);
  EXPECT_EQ(canvas.dump(), " 测 \n");
  canvas.put(0, 2, "x");
  EXPECT_EQ(canvas.dump(), "  x \n");
  EXPECT_EQ(canvas.put(0, -1, "测a"), 2);
  EXPECT_EQ(canvas.dump(), " ax \n");
  EXPECT_EQ(canvas.put(1, 0, "a"), 0);
  EXPECT_EQ(canvas.put(-1, 0, "a"), 0);
  EXPECT_EQ(canvas.put(0, 4, "a"), 0);
}

TEST(Canvas, KeepsCombiningCharactersWithTheirBase) {
  MemoryCanvas canvas(1, 3, true);
  EXPECT_EQ(canvas.put(0, 0, "e\xCC\x81x"), 2);
  EXPECT_EQ(canvas.dump(), "e\xCC\x81x \n");
}

TEST(Canvas, AsciiHasNoOtherByte) {
  MemoryCanvas canvas(1, 5, false);
  canvas.put(0, 0, "测°\x1b");
  EXPECT_EQ(canvas.dump(), "?? \\x\n");
}

}  // namespace
}  // namespace assay::tui
