// The reference firmware on bare metal, whole: its code in one flash chip of an emulated machine,
// its slots in the other, a serial line to it, and power that goes.
#include "tests/firmware/qemu_board.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>

#include "base/clock.h"
#include "tests/base/scratch.h"
#include "tests/firmware/board_console.h"
#include "tests/firmware/firmware_image.h"
#include "tests/support/program.h"

namespace assay::test {
namespace {

using testing::ElementsAre;

class QemuBoardTest : public testing::Test {
 protected:
  void make(const QemuBoardSettings& settings = {.board = "m6-mini", .serial = "M6-2548-000417"}) {
    board_.reset();
    auto board = QemuBoard::make(folder_.root(), settings);
    ASSERT_TRUE(board) << board.error().text();
    board_ = std::move(*board);
  }
  // What the boot says.
  std::string power_on() {
    auto console = BoardConsole::open(board_->port());
    if (!console) return console.error().text();
    console_ = std::move(*console);
    if (auto on = board_->power_on(); !on) return on.error().text();
    if (auto up = board_->wait_until_up(); !up) return up.error().text();
    return text(console_->read_boot());
  }
  std::string power_cycle() {
    board_->power_off();
    console_.reset();
    return power_on();
  }
  static std::string text(const Result<std::string>& result) {
    return result ? *result : result.error().text();
  }
  std::string flash(const std::vector<std::uint8_t>& image) { return text(console_->flash(image)); }
  std::string reset() { return text(console_->reset()); }
  std::vector<std::string> ask(const std::string& command) {
    const auto lines = console_->ask(command);
    return lines ? *lines : std::vector<std::string>{lines.error().text()};
  }
  static std::vector<std::uint8_t> image(const std::string& version, std::uint32_t bytes = 8'000) {
    return firmware_image(version, bytes, "m6-mini");
  }
  // A board that runs 1.0.0, confirmed.
  void factory() {
    make();
    ASSERT_EQ(power_on(), "boot: no image, ROM only");
    ASSERT_EQ(flash(image("1.0.0")), "OK");
    ASSERT_EQ(reset(), "boot: slot 0 1.0.0 on trial");
    ASSERT_THAT(ask("AT+CONFIRM"), ElementsAre());
  }

  Scratch folder_;
  std::unique_ptr<QemuBoard> board_;
  std::unique_ptr<BoardConsole> console_;
};

TEST_F(QemuBoardTest, anEmptyBoardAnswersAsItsRom) {
  make();
  EXPECT_EQ(power_on(), "boot: no image, ROM only");
  EXPECT_THAT(ask("AT"), ElementsAre());
  EXPECT_EQ(text(console_->version()), "0.0.1-rom");
  EXPECT_THAT(ask("AT+SN?"), ElementsAre("SN:M6-2548-000417"));
  EXPECT_THAT(ask("AT+SLOTS?"), ElementsAre("SLOT:0,EMPTY,-", "SLOT:1,EMPTY,-"));
  EXPECT_THAT(ask("AT+TEMP?"), ElementsAre("TEMP:25000"));
  const auto unknown = console_->ask("AT+NONE");
  ASSERT_FALSE(unknown);
  EXPECT_EQ(unknown.error().kind, ErrorKind::protocol);
}

TEST_F(QemuBoardTest, anImageIsTriedConfirmedAndKeptThroughAPowerCut) {
  factory();
  // More than one sector.
  ASSERT_EQ(flash(image("1.1.0", 270'000)), "OK");
  EXPECT_EQ(reset(), "boot: slot 1 1.1.0 on trial");
  EXPECT_THAT(ask("AT+STATUS?"), ElementsAre("STATUS:1,TRIAL,-"));
  EXPECT_THAT(ask("AT+CONFIRM"), ElementsAre());
  EXPECT_EQ(power_cycle(), "boot: slot 1 1.1.0");
  EXPECT_THAT(ask("AT+SLOTS?"), ElementsAre("SLOT:0,1.0.0,-", "SLOT:1,1.1.0,RUNNING"));
  EXPECT_EQ(reset(), "boot: slot 1 1.1.0");
}

TEST_F(QemuBoardTest, anImageThatIsNotConfirmedIsRevertedAtTheNextBoot) {
  factory();
  ASSERT_EQ(flash(image("1.1.0")), "OK");
  EXPECT_EQ(reset(), "boot: slot 1 1.1.0 on trial");
  // The good image is in the other slot.
  EXPECT_EQ(flash(image("1.2.0")), "STATE");
  EXPECT_EQ(power_cycle(), "boot: slot 0 1.0.0 after a revert");
  EXPECT_EQ(power_cycle(), "boot: slot 0 1.0.0");
  // The same by a reset.
  ASSERT_EQ(flash(image("1.2.0")), "OK");
  EXPECT_EQ(reset(), "boot: slot 1 1.2.0 on trial");
  EXPECT_EQ(reset(), "boot: slot 0 1.0.0 after a revert");
}

TEST_F(QemuBoardTest, whatIsNoImageOfThisBoardIsRefused) {
  factory();
  auto flipped = image("2.0.0");
  flipped[5'000] ^= 1;
  EXPECT_EQ(flash(firmware_image("2.0.0", 1000, "other")), "BOARD");
  EXPECT_EQ(flash(flipped), "HASH");
  EXPECT_EQ(power_cycle(), "boot: slot 0 1.0.0");
}

// The chip's file holds what was flashed, byte for byte, where the layout says.
TEST_F(QemuBoardTest, theImageLiesInItsSlot) {
  factory();
  board_->power_off();
  const std::string chip = folder_.content("flash1");
  const auto bytes = image("1.0.0");
  EXPECT_TRUE(std::equal(bytes.begin(), bytes.end(), chip.begin() + (512 << 10),
                         [](std::uint8_t a, char b) { return a == static_cast<std::uint8_t>(b); }));
}

TEST_F(QemuBoardTest, twoBoardsOnOneChipAreNone) {
  make();
  const auto second = QemuBoard::make(folder_.root());
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().kind, ErrorKind::unavailable);
}

TEST_F(QemuBoardTest, withADamagedIdentificationItIsTheReferenceBoard) {
  make();
  {
    std::fstream chip(board_->flash_path(), std::ios::in | std::ios::out | std::ios::binary);
    chip.seekp((64 << 20) - (256 << 10) + 10);
    chip.put('X');
  }
  EXPECT_EQ(power_on(), "boot: no identification");
  EXPECT_THAT(ask("AT+SN?"), ElementsAre("SN:M6-0000-000000"));
  EXPECT_EQ(flash(image("1.0.0")), "BOARD");
}

// 10 bits a byte: the cable makes the transfer last at least that long, whatever the machine does.
TEST_F(QemuBoardTest, theCableKeepsTheBaudRate) {
  make({.board = "m6-mini", .baud = 115200});
  ASSERT_EQ(power_on(), "boot: no image, ROM only");
  const std::int64_t begin = monotonic_ns();
  ASSERT_EQ(flash(image("1.0.0", 10'000)), "OK");
  EXPECT_GE(monotonic_ns() - begin, 10'256LL * 10 * ns_per_s / 115200);
}

// Emulated idle time costs the host nothing: the processor waits for an interrupt, and one that
// spun would be seen running.
TEST_F(QemuBoardTest, anIdleBoardSleeps) {
  make();
  ASSERT_EQ(power_on(), "boot: no image, ROM only");
  int in_a_row = 0;
  EXPECT_TRUE(eventually(30, [&] {
    in_a_row = board_->sleeps() ? in_a_row + 1 : 0;
    return in_a_row == 10;
  }));
  EXPECT_THAT(ask("AT"), ElementsAre());
}

}  // namespace
}  // namespace assay::test
