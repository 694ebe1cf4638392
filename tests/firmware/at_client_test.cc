#include "firmware/serial/at_client.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <deque>
#include <functional>

#include "tests/firmware/endless_line.h"

namespace assay::firmware {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

// What gets the board in step before it is asked.
bool is_opening(const std::string& written) {
  return written == "\r" || written == "\x18\x18\x18\x18\r";
}

// Answers each write from a script; silence is over at once.
class ScriptedTransport final : public Transport {
 public:
  using Script = std::function<std::deque<std::string>(const std::string& written)>;
  explicit ScriptedTransport(Script script) : script_(std::move(script)) {}

  Result<std::size_t> read(std::span<std::uint8_t> buffer, std::int64_t) override {
    if (chunks_.empty()) return fail(ErrorKind::timeout, "no bytes came", name_);
    const std::string chunk = chunks_.front().substr(0, buffer.size());
    chunks_.front().erase(0, chunk.size());
    if (chunks_.front().empty()) chunks_.pop_front();
    std::copy(chunk.begin(), chunk.end(), buffer.begin());
    return chunk.size();
  }
  Result<> write(std::span<const std::uint8_t> bytes, std::int64_t) override {
    const std::string text(bytes.begin(), bytes.end());
    if (!is_opening(text)) ++commands;
    for (std::string& chunk : script_(text)) chunks_.push_back(std::move(chunk));
    return {};
  }
  Result<> discard_input() override {
    chunks_.clear();
    return {};
  }
  Result<> set_baud(int rate) override {
    baud = rate;
    return {};
  }
  const std::string& name() const override { return name_; }

  int commands = 0;
  int baud = 0;

 private:
  Script script_;
  std::deque<std::string> chunks_;
  std::string name_ = "scripted";
};

ScriptedTransport answering(std::deque<std::string> chunks) {
  return ScriptedTransport([chunks = std::move(chunks)](const std::string& written) {
    return is_opening(written) ? std::deque<std::string>{} : chunks;
  });
}

TEST(AtClient, takesRepliesInAnyShape) {
  for (const std::deque<std::string>& chunks :
       std::vector<std::deque<std::string>>{{"FW_VER:2.3.1\r\nOK\r\n"},
                                            {"AT+NPUCFG?\r\r\nFW_VER:2.3.1\r\n\r\nOK\r\n"},
                                            {"\xff\xfeNPU bo", "ot\r\nOKAY\r", "\nAT+NP",
                                             "UCFG?\r\n", "FW_V", "ER:2.3.1", "\rO", "K\n"},
                                            {"\x80\x80"
                                             "FW_VER: 2.3.1 (build 7)\nOK\n"},
                                            {"FW_VER:2.3.1\r\n"}}) {
    ScriptedTransport transport = answering(chunks);
    const auto version = AtClient(transport).query_version();
    ASSERT_TRUE(version) << version.error().text();
    EXPECT_EQ(version->text, "2.3.1");
    EXPECT_EQ(version->version, *parse_semantic_version("2.3.1"));
    EXPECT_EQ(transport.commands, 1);
  }
}

TEST(AtClient, returnsBothFinalResults) {
  ScriptedTransport good = answering({"AT+SN?\r\r\nSN:7\r\nmore\r\nOK\r\n"});
  const auto reply = AtClient(good).command("AT+SN?");
  ASSERT_TRUE(reply);
  EXPECT_TRUE(reply->ok);
  EXPECT_THAT(reply->lines, ElementsAre("SN:7", "more"));
  ScriptedTransport bad = answering({"ERROR\r\n"});
  ASSERT_TRUE(AtClient(bad).command("AT+X"));
  EXPECT_FALSE(AtClient(bad).command("AT+X")->ok);
}

// A receiver that an order starts may ask in the same breath.
TEST(AtClient, keepsWhatCameBehindAReply) {
  ScriptedTransport transport = answering({"O", "K\r\nC"});
  AtClient client(transport);
  ASSERT_TRUE(client.command("AT+UPDATE"));
  EXPECT_EQ(client.behind(), "\nC");
  ScriptedTransport alone = answering({"OK\r"});
  AtClient other(alone);
  ASSERT_TRUE(other.command("AT+UPDATE"));
  EXPECT_EQ(other.behind(), "");
}

TEST(AtClient, retriesAfterSilenceAndAfterNoise) {
  for (const char* first :
       {"", "\xf0\x9d\r\n\x81", "ERROR\r\n", "OK\r\n", "FW_VER:two\r\nOK\r\n"}) {
    int asked = 0;
    ScriptedTransport transport([&](const std::string& written) -> std::deque<std::string> {
      if (is_opening(written)) return {};
      if (++asked < 3) return {first};
      return {"FW_VER:2.1.4-rc3\r\nOK\r\n"};
    });
    const auto version = AtClient(transport).query_version();
    ASSERT_TRUE(version) << version.error().text();
    EXPECT_EQ(version->text, "2.1.4-rc3");
    EXPECT_EQ(asked, 3);
  }
}

TEST(AtClient, clearsAHalfLineBeforeItAsks) {
  std::string line = "AT+GM";  // of a program that probed the port and left
  ScriptedTransport transport([&](const std::string& written) -> std::deque<std::string> {
    line += written;
    if (!line.ends_with('\r')) return {};
    const std::string whole = std::exchange(line, "");
    return {whole == "AT\r" ? "OK\r\n" : "ERROR\r\n"};
  });
  const auto reply = AtClient(transport).command("AT", {.tries = 1});
  ASSERT_TRUE(reply);
  EXPECT_TRUE(reply->ok);
}

// A host that died in a transfer leaves a receiver that waits for the rest.
TEST(AtClient, callsATransferOffThatMayRunBeforeItAsksAgain) {
  std::vector<std::string> written;
  ScriptedTransport transport([&](const std::string& text) -> std::deque<std::string> {
    written.push_back(text);
    return {};
  });
  EXPECT_FALSE(AtClient(transport).command("AT", {.tries = 2}));
  EXPECT_THAT(written, ElementsAre("\r", "AT\r", "\x18\x18\x18\x18\r", "AT\r"));
  written.clear();
  EXPECT_FALSE(AtClient(transport).command("AT", {.tries = 1, .end_transfer = true}));
  EXPECT_THAT(written, ElementsAre("\x18\x18\x18\x18\r", "AT\r"));
}

TEST(AtClient, aBoardThatNeverStopsTalkingHasADeadlineToo) {
  EndlessLine chatter('x');
  const auto reply = AtClient(chatter).command("AT", {.timeout_ns = 20 * ns_per_ms, .tries = 1});
  ASSERT_FALSE(reply);
  EXPECT_EQ(reply.error().kind, ErrorKind::protocol);
}

TEST(AtClient, tellsSilenceFromNonsense) {
  ScriptedTransport silent = answering({});
  const auto nothing = AtClient(silent).query_version();
  ASSERT_FALSE(nothing);
  EXPECT_EQ(nothing.error().kind, ErrorKind::timeout);
  EXPECT_EQ(nothing.error().what, "no answer to AT+NPUCFG? in 3 tries (0 bytes received)");
  EXPECT_EQ(nothing.error().where, "scripted");
  EXPECT_FALSE(nothing.error().hint.empty());

  ScriptedTransport noisy = answering({"\x1b[31m" + std::string(3000, '\x07') + "\r\n\xff"});
  const auto noise = AtClient(noisy).query_version();
  ASSERT_FALSE(noise);
  EXPECT_EQ(noise.error().kind, ErrorKind::protocol);
  EXPECT_THAT(noise.error().what, HasSubstr("answer not understood: \"\\x1B[31m\\x07"));
  EXPECT_THAT(noise.error().what, Not(HasSubstr("\x1b")));
  EXPECT_LE(noise.error().what.size(), 150u);
  EXPECT_EQ(noisy.commands, 3);
}

TEST(AtClient, saysWhatWasWrongWithTheAnswer) {
  const auto error_of = [](std::deque<std::string> chunks) {
    ScriptedTransport transport = answering(std::move(chunks));
    const auto version = AtClient(transport).query_version();
    EXPECT_FALSE(version);
    EXPECT_EQ(version.error().kind, ErrorKind::protocol);
    return version.error().what;
  };
  EXPECT_THAT(error_of({"AT+NPUCFG?\r"}), HasSubstr("came back and nothing else"));
  EXPECT_THAT(error_of({"FW_VER:seven\r\nOK\r\n"}), HasSubstr("\"FW_VER:seven\""));
  EXPECT_THAT(error_of({std::string(70'000, 'z')}), HasSubstr("zzz..."));
}

// That was understood: nothing is wrong with the line.
TEST(AtClient, aFirmwareThatDoesNotKnowTheQueryIsNotGarbled) {
  ScriptedTransport* port = nullptr;
  ScriptedTransport transport([&](const std::string& written) -> std::deque<std::string> {
    if (is_opening(written)) return {};
    return {port->baud == 9600 ? "\xf8\x80\xf8" : "ERROR\r\n"};
  });
  port = &transport;
  for (const std::vector<int>& bauds :
       std::vector<std::vector<int>>{{115200, 9600}, {9600, 115200}}) {
    const auto version = query_version_at_bauds(transport, bauds);
    ASSERT_FALSE(version);
    EXPECT_EQ(version.error().kind, ErrorKind::unavailable);
    EXPECT_EQ(version.error().what, "this firmware does not know AT+NPUCFG?: it got ERROR");
  }
}

TEST(AtClient, refusesWhatIsNoCommand) {
  ScriptedTransport transport = answering({"OK\r\n"});
  for (const std::string& text :
       {std::string(), std::string("AT\rAT"), std::string("AT\xff"), std::string(128, 'A')}) {
    const auto reply = AtClient(transport).command(text);
    ASSERT_FALSE(reply);
    EXPECT_EQ(reply.error().kind, ErrorKind::usage);
  }
  EXPECT_EQ(transport.commands, 0);
}

TEST(AtClient, stopsWhenCancelled) {
  ScriptedTransport transport = answering({});
  CancelToken cancel;
  cancel.cancel();
  const auto reply = AtClient(transport).command("AT", {.cancel = &cancel});
  ASSERT_FALSE(reply);
  EXPECT_EQ(reply.error().kind, ErrorKind::cancelled);
}

TEST(AtClient, findsTheBaudRate) {
  ScriptedTransport* port = nullptr;
  ScriptedTransport transport([&](const std::string& written) -> std::deque<std::string> {
    if (written == "\r" || port->baud == 9600) return {};
    return {port->baud == 921600 ? "FW_VER:2.3.1\r\nOK\r\n" : "\xf8\x80\xf8"};
  });
  port = &transport;
  const auto version = query_version_at_bauds(transport, {9600, 115200, 921600});
  ASSERT_TRUE(version) << version.error().text();
  EXPECT_EQ(version->baud, 921600);
  EXPECT_EQ(query_version_at_bauds(transport, {115200, 9600}).error().kind, ErrorKind::protocol);
  EXPECT_EQ(query_version_at_bauds(transport, {9600}).error().kind, ErrorKind::timeout);
  EXPECT_EQ(query_version_at_bauds(transport, {}).error().kind, ErrorKind::usage);
}

}  // namespace
}  // namespace assay::firmware
