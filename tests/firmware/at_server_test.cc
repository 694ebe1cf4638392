#include "firmware/device/at_server.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

namespace assay::firmware::device {
namespace {

class Board {
 public:
  explicit Board(bool echo = false) {
    if (!echo) say("ATE0\r");
  }

  std::string boot() {
    sent_.clear();
    server_.boot();
    return sent_;
  }
  std::string say(std::string_view text) {
    sent_.clear();
    for (const char c : text) server_.receive(static_cast<std::uint8_t>(c));
    return sent_;
  }

 private:
  std::string sent_;
  AtServer server_{{"2.3.1", "M6-2026-004417"},
                   {[](void* sent, const std::uint8_t* bytes, std::size_t size) {
                      static_cast<std::string*>(sent)->append(reinterpret_cast<const char*>(bytes),
                                                              size);
                    },
                    &sent_}};
};

TEST(AtServer, answersEveryCommand) {
  Board board;
  EXPECT_EQ(board.say("AT\r"), "OK\r\n");
  EXPECT_EQ(board.say("AT+NPUCFG?\r"), "FW_VER:2.3.1\r\nOK\r\n");
  EXPECT_EQ(board.say("ATNPUCFG?\r"), "FW_VER:2.3.1\r\nOK\r\n");
  EXPECT_EQ(board.say("AT+SN?\r"), "SN:M6-2026-004417\r\nOK\r\n");
  EXPECT_EQ(board.say("at+npucfg?\r"), "FW_VER:2.3.1\r\nOK\r\n");
}

TEST(AtServer, refusesWhatItDoesNotKnow) {
  Board board;
  for (const char* line : {"A", "ATX", "AT+NPUCFG", "AT+NPUCFG??", " AT", "\x01", "AT\xff"}) {
    EXPECT_EQ(board.say(std::string(line) + "\r"), "ERROR\r\n") << line;
  }
}

TEST(AtServer, takesCrLfAndBothAsLineEnd) {
  Board board;
  EXPECT_EQ(board.say("AT\rAT\nAT\r\n"), "OK\r\nOK\r\nOK\r\n");
  EXPECT_EQ(board.say("\r\n\r\r\n\n"), "");
}

TEST(AtServer, echoesUntilTold) {
  Board board(true);
  EXPECT_EQ(board.say("AT\r"), "AT\r\r\nOK\r\n");
  EXPECT_EQ(board.say("ate0\r"), "ate0\rOK\r\n");
  EXPECT_EQ(board.say("AT\r"), "OK\r\n");
  EXPECT_EQ(board.say("ATE1\r"), "\r\nOK\r\n");
  EXPECT_EQ(board.say("AT\r"), "AT\r\r\nOK\r\n");
}

TEST(AtServer, swallowsAnOverlongLineToItsEnd) {
  Board board;
  const std::string full(AtServer::max_line, 'x');
  EXPECT_EQ(board.say(full + "\r"), "ERROR\r\n");
  EXPECT_EQ(board.say(full + "AT"), "");
  EXPECT_EQ(board.say(std::string(100'000, 'y') + "\r\n"), "ERROR\r\n");
  EXPECT_EQ(board.say("AT\r"), "OK\r\n");
}

TEST(AtServer, printsABannerThatIsNoAnswer) {
  Board board(true);
  const std::string banner = board.boot();
  EXPECT_NE(banner.find("NPU boot 2.3.1\r\n"), std::string::npos) << banner;
  EXPECT_EQ(banner.find("FW_VER"), std::string::npos);
  EXPECT_EQ(banner.find("OK"), std::string::npos);
}

}  // namespace
}  // namespace assay::firmware::device
