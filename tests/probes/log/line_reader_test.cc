#include "probes/log/line_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace assay::probes {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

struct Read {
  LineReader reader;
  std::vector<std::string> lines;

  void feed(std::string_view bytes) {
    reader.feed(bytes, [&](std::string_view line) { lines.emplace_back(line); });
  }
  void finish() {
    reader.finish([&](std::string_view line) { lines.emplace_back(line); });
  }
};

TEST(LineReader, takesBothLineEndsAndALastLineWithout) {
  Read read;
  read.feed("one\ntwo\r\n\n\r\nfive");
  EXPECT_THAT(read.lines, ElementsAre("one", "two", "", ""));
  read.finish();
  EXPECT_THAT(read.lines, ElementsAre("one", "two", "", "", "five"));
  EXPECT_EQ(read.reader.lines(), 5U);
  EXPECT_EQ(read.reader.cut_lines(), 0U);
  read.finish();
  EXPECT_EQ(read.reader.lines(), 5U);
}

// The property: where the bytes are cut makes no difference.
TEST(LineReader, linesAreTheSameHoweverTheBytesCome) {
  std::string text = "a\r\n\nbc\n" + std::string(LineReader::most_line_bytes + 50, 'x') + "\r\n";
  text += std::string(LineReader::most_line_bytes, 'y') + "\r\nlast\0line";
  Read whole;
  whole.feed(text);
  whole.finish();
  ASSERT_EQ(whole.lines.size(), 6U);
  for (const std::size_t piece : {std::size_t{1}, std::size_t{2}, std::size_t{7}, std::size_t{4096},
                                  LineReader::most_line_bytes + 1}) {
    Read cut;
    for (std::size_t at = 0; at < text.size(); at += piece) {
      cut.feed(std::string_view(text).substr(at, piece));
    }
    cut.finish();
    EXPECT_EQ(cut.lines, whole.lines) << piece;
    EXPECT_EQ(cut.reader.cut_lines(), whole.reader.cut_lines()) << piece;
    EXPECT_EQ(cut.reader.bytes(), text.size());
  }
}

TEST(LineReader, aLineOverTheBoundIsCutAndCounted) {
  Read read;
  const std::string most(LineReader::most_line_bytes, 'x');
  read.feed(most + "\n" + most + "\r\n" + most + "y\n" + most + most + most + "\nnext\n");
  EXPECT_THAT(read.lines, ElementsAre(most, most, most, most, "next"));
  EXPECT_EQ(read.reader.cut_lines(), 2U);
}

TEST(LineReader, anEmptyLogHasNoLine) {
  Read read;
  read.feed("");
  read.finish();
  EXPECT_THAT(read.lines, IsEmpty());
}

}  // namespace
}  // namespace assay::probes
