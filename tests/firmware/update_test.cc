// A new image over a serial line into the reference firmware's process, and what is left when its
// power goes in the middle: SIGKILL, with the flash chip in a file.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>

#include <random>
#include <thread>

#include "firmware/serial/at_client.h"
#include "firmware/serial/ymodem_sender.h"
#include "tests/base/scratch.h"
#include "tests/firmware/firmware_image.h"
#include "tests/firmware/pseudo_terminal.h"

namespace assay::firmware {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;

class Update : public testing::Test {
 protected:
  // The board is powered on.
  void power_on() {
    process_.emplace(std::vector<std::string>{"--flash", folder_ / "chip", "--version", "0.0.1-rom",
                                              "--board", "m6-mini"});
    transport_ = std::move(*open_transport(process_->path(), 115200));
    client_.emplace(*transport_);
  }
  void power_off() {
    client_.reset();
    transport_.reset();
    process_.reset();
  }
  std::vector<std::string> ask(const std::string& command) {
    const auto reply = client_->command(command);
    EXPECT_TRUE(reply) << command << (reply ? "" : reply.error().text());
    return reply ? reply->lines : std::vector<std::string>{};
  }
  std::string version() {
    const auto version = client_->query_version();
    return version ? version->text : version.error().text();
  }
  // What came of the last transfer: "UPDATE:OK".
  std::string verdict() {
    const auto reply = client_->command("AT+UPDATE?");
    if (!reply) return reply.error().text();
    return reply->lines.empty() ? "nothing" : reply->lines.back();
  }
  Result<> flash(const std::vector<std::uint8_t>& image) {
    const auto begun = client_->command("AT+UPDATE");
    if (!begun) return std::unexpected(begun.error());
    if (!begun->ok) return fail(ErrorKind::protocol, "refused");
    auto sent = send_file(*transport_, "npu.bin", image, {.answer_timeout_ns = 3 * ns_per_s});
    // What was on the line meanwhile was no command: one that starts afresh clears it away.
    client_.emplace(*transport_);
    return sent;
  }
  void reset() {
    ask("AT+RESET");
    client_.emplace(*transport_);
  }
  static std::vector<std::uint8_t> image(const std::string& version,
                                         std::uint32_t bytes = 100'000) {
    return test::firmware_image(version, bytes, "m6-mini");
  }

  test::Scratch folder_;
  std::optional<FirmwareProcess> process_;
  std::unique_ptr<Transport> transport_;
  std::optional<AtClient> client_;
};

TEST_F(Update, aNewImageIsTriedConfirmedAndKept) {
  power_on();
  EXPECT_EQ(version(), "0.0.1-rom");
  EXPECT_THAT(ask("AT+SLOTS?"), ElementsAre("SLOT:0,EMPTY,-", "SLOT:1,EMPTY,-"));
  ASSERT_TRUE(flash(image("2.3.0")));
  EXPECT_EQ(verdict(), "UPDATE:OK");
  reset();
  EXPECT_EQ(version(), "2.3.0");
  EXPECT_THAT(ask("AT+STATUS?"), ElementsAre("STATUS:0,TRIAL,-"));
  EXPECT_THAT(ask("AT+CONFIRM"), ElementsAre());
  EXPECT_THAT(ask("AT+STATUS?"), ElementsAre("STATUS:0,CONFIRMED,-"));
  ASSERT_TRUE(flash(image("2.3.1")));
  EXPECT_EQ(verdict(), "UPDATE:OK");
  reset();
  EXPECT_EQ(version(), "2.3.1");
  ask("AT+CONFIRM");
  EXPECT_THAT(ask("AT+SLOTS?"), ElementsAre("SLOT:0,2.3.0,-", "SLOT:1,2.3.1,RUNNING"));
  EXPECT_THAT(ask("AT+TEMP?"), ElementsAre("TEMP:25000"));
  power_off();
  power_on();
  EXPECT_EQ(version(), "2.3.1");
  EXPECT_THAT(ask("AT+BOOTLOG?"), ElementsAre("boot: slot 1 2.3.1"));
}

TEST_F(Update, anImageThatIsNotConfirmedGoes) {
  power_on();
  ASSERT_TRUE(flash(image("2.3.0")));
  EXPECT_EQ(verdict(), "UPDATE:OK");
  reset();
  ask("AT+CONFIRM");
  ASSERT_TRUE(flash(image("2.4.0")));
  EXPECT_EQ(verdict(), "UPDATE:OK");
  reset();
  EXPECT_EQ(version(), "2.4.0");
  // On trial nothing else is taken: the good image is in the other slot.
  EXPECT_FALSE(flash(image("2.5.0")));
  power_off();
  power_on();
  EXPECT_EQ(version(), "2.3.0");
  EXPECT_THAT(ask("AT+STATUS?"), ElementsAre("STATUS:0,CONFIRMED,REVERTED"));
}

TEST_F(Update, whatIsNoImageOfThisBoardIsRefused) {
  power_on();
  ASSERT_TRUE(flash(image("2.3.0")));
  EXPECT_EQ(verdict(), "UPDATE:OK");
  reset();
  ask("AT+CONFIRM");
  auto flipped = image("2.3.1");
  flipped[50'000] ^= 1;
  const struct {
    std::vector<std::uint8_t> bytes;
    const char* verdict;
  } cases[] = {{test::firmware_image("9.9.9", 1000, "other"), "UPDATE:BOARD"},
               {test::firmware_image("9.9.9", 1000, "m6-mini", 0), "UPDATE:ROLLBACK"},
               {std::vector<std::uint8_t>(5000, 0x41), "UPDATE:HEADER"},
               {std::vector<std::uint8_t>(10, 0x41), "UPDATE:SIZE"},
               {flipped, "UPDATE:HASH"}};
  for (const auto& c : cases) {
    (void)flash(c.bytes);
    EXPECT_EQ(verdict(), c.verdict);
    EXPECT_EQ(version(), "2.3.0") << c.verdict;
  }
}

TEST_F(Update, twoProcessesOnOneChipAreNone) {
  power_on();
  EXPECT_EQ(version(), "0.0.1-rom");
  const Outcome second = run_firmware({"--flash", folder_ / "chip"}, "");
  EXPECT_EQ(second.exit_code, 3);
}

TEST_F(Update, thePowerMayGoAtAnyTime) {
  power_on();
  ASSERT_TRUE(flash(image("1.0.0")));
  EXPECT_EQ(verdict(), "UPDATE:OK");
  reset();
  ask("AT+CONFIRM");
  std::mt19937 random(11);
  int updated = 0;
  std::string running = "1.0.0";
  constexpr int cuts = 25;
  for (int cut = 1; cut <= cuts; ++cut) {
    const std::string next = "1.0." + std::to_string(cut);
    // Somewhere in the transfer, behind it, or in the boots that follow.
    const int after_ms = static_cast<int>(random() % 250);
    std::jthread killer([&] {
      poll(nullptr, 0, after_ms);
      process_->kill();
    });
    if (flash(image(next)) && verdict() == "UPDATE:OK") {
      (void)client_->command("AT+RESET", {.tries = 1});
      AtClient after(*transport_);
      if (after.query_version("AT+NPUCFG?", {.tries = 1})) (void)after.command("AT+CONFIRM");
    }
    killer.join();
    power_off();
    power_on();
    const std::string now = version();
    ASSERT_TRUE(now == running || now == next) << cut << ": " << now;
    updated += now == next ? 1 : 0;
    ask("AT+CONFIRM");
    running = now;
  }
  // Whatever was cut off, the next update goes through.
  ASSERT_TRUE(flash(image("3.0.0")));
  EXPECT_EQ(verdict(), "UPDATE:OK");
  reset();
  EXPECT_EQ(version(), "3.0.0");
  EXPECT_LT(updated, cuts);
}

}  // namespace
}  // namespace assay::firmware
