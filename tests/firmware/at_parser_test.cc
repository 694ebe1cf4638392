#include "firmware/serial/at_parser.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>

namespace assay::firmware {
namespace {

using State = AtParser::State;
using testing::ElementsAre;
using testing::IsEmpty;

std::size_t feed(AtParser* parser, std::string_view text) {
  return parser->feed({reinterpret_cast<const std::uint8_t*>(text.data()), text.size()});
}

AtParser parse(std::string_view text) {
  AtParser parser("AT+NPUCFG?");
  feed(&parser, text);
  return parser;
}

TEST(AtParser, givesTheSameReplyForEverySplit) {
  const std::string text =
      "junk\r\nNPU ready\r\nAT+NPUCFG?\r\r\nFW_VER:2.1.4-rc3\r\n\r\nSN:7\n\r\nOK\r\n";
  for (std::size_t i = 0; i <= text.size(); ++i) {
    for (std::size_t j = i; j <= text.size(); ++j) {
      AtParser parser("AT+NPUCFG?");
      feed(&parser, std::string_view(text).substr(0, i));
      feed(&parser, std::string_view(text).substr(i, j - i));
      feed(&parser, std::string_view(text).substr(j));
      ASSERT_EQ(parser.state(), State::ok) << i << " " << j;
      ASSERT_THAT(parser.lines(), ElementsAre("FW_VER:2.1.4-rc3", "SN:7")) << i << " " << j;
      ASSERT_EQ(parser.received(), text.size() - 1);
    }
  }
}

TEST(AtParser, takesNothingBehindTheFinalResult) {
  AtParser parser("AT");
  EXPECT_EQ(feed(&parser, "OK\r\nmore"), 3u);
  EXPECT_EQ(feed(&parser, "more"), 0u);
  EXPECT_EQ(parser.state(), State::ok);
  EXPECT_THAT(parser.lines(), IsEmpty());
}

TEST(AtParser, knowsErrorFromOkAndBothFromText) {
  EXPECT_EQ(parse("ERROR\r").state(), State::error);
  EXPECT_EQ(parse(" OK \n").state(), State::ok);
  EXPECT_EQ(parse("OK").state(), State::collecting);
  const AtParser parser = parse("BOOK\r\nOKAY\r\nNO ERROR\r\nok\r\nO");
  EXPECT_EQ(parser.state(), State::collecting);
  EXPECT_THAT(parser.lines(), ElementsAre("BOOK", "OKAY", "NO ERROR", "ok"));
  EXPECT_EQ(parser.unfinished(), "O");
}

TEST(AtParser, skipsTheEchoAndAllBeforeIt) {
  const AtParser parser = parse("half a lAT+NPUCFG?\r\nFW_VER:1.0.0\r\nOK\r\n");
  EXPECT_TRUE(parser.echoed());
  EXPECT_THAT(parser.lines(), ElementsAre("FW_VER:1.0.0"));
  EXPECT_FALSE(parse("FW_VER:1.0.0\r\nOK\r\n").echoed());
}

TEST(AtParser, dropsNulsAndKeepsOtherBytes) {
  const AtParser parser = parse(std::string_view("\0\0\xff\x80\x1b[2J\0x\r\n\0O\0K\r\n", 19));
  EXPECT_THAT(parser.lines(), ElementsAre("\xff\x80\x1b[2Jx"));
  EXPECT_EQ(parser.state(), State::ok);
}

TEST(AtParser, cutsALongLine) {
  // Behind the cut it reads "OK", which must not count.
  const AtParser parser = parse(std::string(AtParser::max_line, 'z') + "OK\r\nOK\r\n");
  EXPECT_THAT(parser.lines(), ElementsAre(std::string(AtParser::max_line, 'z')));
  EXPECT_EQ(parser.state(), State::ok);
}

TEST(AtParser, givesUpOnEndlessNoise) {
  for (const char* noise : {"x", "x\n", "\n", "\xff\xfe\r"}) {
    AtParser parser("AT");
    for (int i = 0; i < 200'000; ++i) feed(&parser, noise);
    EXPECT_EQ(parser.state(), State::overflow);
    EXPECT_EQ(parser.received(), AtParser::max_reply);
    std::size_t kept = parser.unfinished().size();
    for (const std::string& line : parser.lines()) kept += line.size();
    EXPECT_LE(kept, AtParser::max_reply);
  }
}

}  // namespace
}  // namespace assay::firmware
