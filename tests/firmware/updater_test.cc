// The whole update, against the reference firmware's process: what is done, what is left alone, and
// what becomes of one that is cut off.
#include "firmware/update/updater.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "firmware/serial/at_client.h"
#include "firmware/serial/ymodem_sender.h"
#include "firmware/update/board_client.h"
#include "tests/base/scratch.h"
#include "tests/firmware/firmware_image.h"
#include "tests/firmware/pseudo_terminal.h"
#include "tests/support/program.h"

namespace assay::firmware {
namespace {

using testing::HasSubstr;
using testing::SizeIs;

FirmwareImage image_of(const std::string& version, std::uint32_t counter = 1,
                       std::uint32_t bytes = 100'000) {
  return *parse_image(test::firmware_image(version, bytes, "board-a", counter), "test");
}

class UpdaterTest : public testing::Test {
 protected:
  UpdaterTest() {
    options_.image.board = "board-a";
    options_.boot_timeout_ns = 20 * ns_per_s;
    options_.on_note = [this](const std::string& note) { notes_.push_back(note); };
    open_ = [this] { return open_transport(board_->path(), 115200); };
  }
  void power_on(std::vector<std::string> more = {}) {
    std::vector<std::string> arguments{"--flash", folder_ / "chip", "--board",
                                       "board-a", "--version",      "0.0.1-rom"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    board_.emplace(arguments);
  }
  Result<UpdateOutcome> update(const FirmwareImage& image) {
    return update_board(open_, image, options_);
  }
  // A board that runs this, confirmed.
  void start_with(const std::string& version, std::uint32_t counter = 1) {
    power_on();
    const auto done = update(image_of(version, counter));
    ASSERT_TRUE(done) << done.error().text();
    board_.reset();
    notes_.clear();
  }
  std::string running() {
    const auto transport = open_transport(board_->path(), 115200);
    AtClient client(**transport);
    const auto version = client.query_version();
    const auto state = query_boot_state(client);
    if (!version || !state) return "no answer";
    return version->text + (state->on_trial ? " on trial" : "");
  }
  // Up to the reset, and no further: what is left when the host dies there.
  void leave_on_trial(const FirmwareImage& image) {
    const auto transport = open_transport(board_->path(), 115200);
    AtClient client(**transport);
    ASSERT_TRUE(order(client, "AT+UPDATE"));
    ASSERT_TRUE(send_file(**transport, "npu.bin", image.bytes));
    AtClient after(**transport);
    ASSERT_TRUE(order(after, "AT+RESET"));
  }

  test::Scratch folder_;
  std::optional<FirmwareProcess> board_;
  OpenPort open_;
  UpdateOptions options_;
  std::vector<std::string> notes_;
};

TEST_F(UpdaterTest, bringsABoardFromOldToNewAndConfirms) {
  start_with("2.1.4-rc3");
  power_on();
  std::uint64_t last = 0;
  std::uint64_t total = 0;
  options_.on_progress = [&](UpdatePhase phase, std::uint64_t done, std::uint64_t of) {
    if (phase != UpdatePhase::transfer) return;
    EXPECT_GE(done, last);
    last = done;
    total = of;
  };
  const auto image = image_of("2.3.1");
  const auto done = update(image);
  ASSERT_TRUE(done) << done.error().text();
  EXPECT_EQ(done->from, "2.1.4-rc3");
  EXPECT_EQ(done->to, "2.3.1");
  EXPECT_FALSE(done->same_version);
  EXPECT_EQ(done->interruptions, 0u);
  EXPECT_EQ(done->bytes, image.bytes.size());
  EXPECT_EQ(last, image.bytes.size());
  EXPECT_EQ(total, image.bytes.size());
  EXPECT_EQ(running(), "2.3.1");
  // It stays through a power cut: it was confirmed.
  board_.reset();
  power_on();
  EXPECT_EQ(running(), "2.3.1");
}

TEST_F(UpdaterTest, smpBringsItThereToo) {
  start_with("2.1.4-rc3");
  power_on();
  options_.protocol = UpdateProtocol::smp;
  const auto done = update(image_of("2.3.1"));
  ASSERT_TRUE(done) << done.error().text();
  EXPECT_EQ(done->from, "2.1.4-rc3");
  EXPECT_EQ(running(), "2.3.1");
}

TEST_F(UpdaterTest, aPowerCutInAnUploadBySmpIsTriedAgain) {
  start_with("2.1.4-rc3");
  power_on({"--cut-power-at", "60000"});
  options_.protocol = UpdateProtocol::smp;
  const auto done = update(image_of("2.3.1"));
  ASSERT_TRUE(done) << done.error().text();
  EXPECT_EQ(done->interruptions, 1u);
  EXPECT_EQ(running(), "2.3.1");
}

TEST_F(UpdaterTest, theSameVersionLeavesTheChipAsItIs) {
  start_with("2.3.1");
  const std::string before = test::read_file(folder_ / "chip");
  power_on();
  const auto done = update(image_of("2.3.1"));
  ASSERT_TRUE(done) << done.error().text();
  EXPECT_TRUE(done->same_version);
  board_.reset();
  EXPECT_EQ(test::read_file(folder_ / "chip"), before);
}

// Its ROM may have the image's version; without an image in a slot there is nothing that runs it.
TEST_F(UpdaterTest, theSameVersionInTheRomAloneIsNoImage) {
  power_on({"--version", "2.3.1"});
  const auto done = update(image_of("2.3.1"));
  ASSERT_TRUE(done) << done.error().text();
  EXPECT_FALSE(done->same_version);
  const auto transport = open_transport(board_->path(), 115200);
  AtClient client(**transport);
  const auto state = query_boot_state(client);
  ASSERT_TRUE(state);
  EXPECT_TRUE(state->slot.has_value());
  EXPECT_FALSE(state->on_trial);
}

TEST_F(UpdaterTest, whatAGuardRefusesNeverReachesTheChip) {
  start_with("2.3.1");
  const std::string before = test::read_file(folder_ / "chip");
  power_on();
  EXPECT_THAT(update(image_of("2.1.4")).error().what, HasSubstr("older than 2.3.1"));
  options_.image.board = "board-b";
  EXPECT_THAT(update(image_of("2.4.0")).error().what, HasSubstr("is for the board"));
  options_.image.board = "board-a";
  options_.board.temperature_limit_mc = 20'000;
  EXPECT_THAT(update(image_of("2.4.0")).error().what, HasSubstr("the board is at 25.0 C"));
  board_.reset();
  EXPECT_EQ(test::read_file(folder_ / "chip"), before);
}

TEST_F(UpdaterTest, aDowngradeIsTakenWhenAllowed) {
  start_with("2.3.1");
  power_on();
  options_.board.allow_downgrade = true;
  const auto done = update(image_of("2.1.4"));
  ASSERT_TRUE(done) << done.error().text();
  EXPECT_EQ(running(), "2.1.4");
}

TEST_F(UpdaterTest, whatTheBoardItselfRefusesIsNotTriedAgain) {
  start_with("2.3.1", 5);
  power_on();
  const auto done = update(image_of("2.4.0", 4));
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().kind, ErrorKind::usage);
  EXPECT_THAT(done.error().what, HasSubstr("refused the image: its security counter"));
  EXPECT_THAT(notes_, SizeIs(0));
  EXPECT_EQ(running(), "2.3.1");
}

TEST_F(UpdaterTest, aPowerCutInTheTransferIsTriedAgain) {
  start_with("2.1.4-rc3");
  int next = 1;
  unsigned interruptions = 0;
  // In the header, at its end, in the middle, in the last block.
  for (const char* cut_at : {"60", "700", "40000", "103000"}) {
    power_on({"--cut-power-at", cut_at});
    const std::string version = "2.3." + std::to_string(next++);
    const auto done = update(image_of(version));
    ASSERT_TRUE(done) << cut_at << ": " << done.error().text();
    EXPECT_EQ(done->to, version);
    EXPECT_EQ(done->interruptions, notes_.size());
    EXPECT_EQ(running(), version);
    interruptions += done->interruptions;
    notes_.clear();
    board_.reset();
  }
  // The cut before the transfer may go unnoticed: the question is asked again.
  EXPECT_GE(interruptions, 3u);
}

TEST_F(UpdaterTest, aPortThatVanishesIsOpenedAgain) {
  start_with("2.1.4-rc3");
  power_on();
  bool pulled = false;
  options_.on_progress = [&](UpdatePhase phase, std::uint64_t done, std::uint64_t) {
    if (phase != UpdatePhase::transfer || done < 50'000 || pulled) return;
    pulled = true;
    board_->kill();
    power_on();  // behind another terminal
  };
  const auto done = update(image_of("2.3.1"));
  ASSERT_TRUE(done) << done.error().text();
  EXPECT_TRUE(pulled);
  EXPECT_EQ(done->interruptions, 1u);
  EXPECT_EQ(running(), "2.3.1");
}

TEST_F(UpdaterTest, aPortThatStaysAwayIsAnErrorAndTheOldImageRuns) {
  start_with("2.1.4-rc3");
  power_on();
  options_.boot_timeout_ns = 300 * ns_per_ms;
  options_.on_progress = [&](UpdatePhase phase, std::uint64_t done, std::uint64_t) {
    if (phase == UpdatePhase::transfer && done > 50'000) board_->kill();
  };
  const auto done = update(image_of("2.3.1"));
  ASSERT_FALSE(done);
  power_on();
  EXPECT_EQ(running(), "2.1.4-rc3");
}

TEST_F(UpdaterTest, anUpdateCutOffBeforeItsConfirmIsFinished) {
  start_with("2.1.4-rc3");
  power_on();
  leave_on_trial(image_of("2.3.1"));
  const auto done = update(image_of("2.3.1"));
  ASSERT_TRUE(done) << done.error().text();
  EXPECT_EQ(running(), "2.3.1");
}

TEST_F(UpdaterTest, anotherImageOnTrialGoesBackFirst) {
  start_with("2.1.4-rc3");
  power_on();
  leave_on_trial(image_of("2.2.0"));
  const auto done = update(image_of("2.3.1"));
  ASSERT_TRUE(done) << done.error().text();
  EXPECT_EQ(running(), "2.3.1");
  const auto transport = open_transport(board_->path(), 115200);
  AtClient client(**transport);
  const auto slots = query_slots(client);
  ASSERT_TRUE(slots);
  // The image that it went back to is the one that is kept beside the new one.
  std::vector<std::string> versions;
  for (const auto& slot : *slots) versions.push_back(slot.version);
  EXPECT_THAT(versions, testing::UnorderedElementsAre("2.1.4-rc3", "2.3.1"));
}

TEST_F(UpdaterTest, theRateIsRaisedForTheTransferAndIsBackAfterIt) {
  start_with("2.1.4-rc3");
  power_on({"--baud", "115200"});
  options_.transfer_baud = 921600;
  const auto done = update(image_of("2.3.1"));
  ASSERT_TRUE(done) << done.error().text();
  EXPECT_EQ(done->baud, 921600);
  EXPECT_EQ(running(), "2.3.1");
}

TEST_F(UpdaterTest, aBoardThatKnowsNoOtherRateIsLeftAtItsOwn) {
  start_with("2.1.4-rc3");
  power_on({"--baud", "115200"});
  options_.transfer_baud = 57600;
  const auto done = update(image_of("2.3.1"));
  ASSERT_TRUE(done) << done.error().text();
  EXPECT_EQ(done->baud, 115200);
  EXPECT_THAT(notes_, testing::ElementsAre(HasSubstr("does not go to 57600")));
}

TEST_F(UpdaterTest, theBoardIsFoundAtTheRateThatItHas) {
  start_with("2.1.4-rc3");
  power_on({"--baud", "921600"});
  options_.bauds = {115200, 921600};
  const auto done = update(image_of("2.3.1"));
  ASSERT_TRUE(done) << done.error().text();
  EXPECT_EQ(done->baud, 921600);
}

TEST_F(UpdaterTest, aCancelLeavesTheOldImageAndTellsTheBoard) {
  start_with("2.1.4-rc3");
  power_on();
  CancelToken cancel;
  options_.cancel = &cancel;
  options_.on_progress = [&](UpdatePhase phase, std::uint64_t done, std::uint64_t) {
    if (phase == UpdatePhase::transfer && done > 50'000) cancel.cancel();
  };
  const auto done = update(image_of("2.3.1"));
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().kind, ErrorKind::cancelled);
  // At once: it does not wait for the rest.
  EXPECT_EQ(running(), "2.1.4-rc3");
}

TEST_F(UpdaterTest, theRateIsBackAfterWhatDidNotBringTheImageToo) {
  start_with("2.3.1", 5);
  power_on({"--baud", "115200"});
  options_.transfer_baud = 921600;
  ASSERT_FALSE(update(image_of("2.4.0", 4)));  // refused
  EXPECT_EQ(running(), "2.3.1");
  CancelToken cancel;
  options_.cancel = &cancel;
  options_.on_progress = [&](UpdatePhase phase, std::uint64_t done, std::uint64_t) {
    if (phase == UpdatePhase::transfer && done > 50'000) cancel.cancel();
  };
  ASSERT_EQ(update(image_of("2.5.0", 5)).error().kind, ErrorKind::cancelled);
  EXPECT_EQ(running(), "2.3.1");
}

// The board keeps its power and waits for the rest of the file, at the rate of the transfer.
TEST_F(UpdaterTest, aHostThatDiedInATransferDoesNotLeaveTheBoardDeaf) {
  start_with("2.1.4-rc3");
  power_on({"--baud", "115200"});
  {
    const auto transport = open_transport(board_->path(), 115200);
    AtClient client(**transport);
    ASSERT_TRUE(order(client, "AT+IPR=921600"));
    ASSERT_TRUE((*transport)->set_baud(921600));
    ASSERT_TRUE(order(client, "AT+UPDATE"));
    const auto image = image_of("2.3.1");
    class Dies final : public Transport {
     public:
      explicit Dies(Transport& line) : line_(line) {}
      Result<std::size_t> read(std::span<std::uint8_t> buffer, std::int64_t until) override {
        return line_.read(buffer, until);
      }
      // In the middle of a block.
      Result<> write(std::span<const std::uint8_t> bytes, std::int64_t until) override {
        if (++blocks_ < 30) return line_.write(bytes, until);
        (void)line_.write(bytes.first(bytes.size() / 2), until);
        return fail(ErrorKind::vanished, "gone", name());
      }
      Result<> discard_input() override { return line_.discard_input(); }
      Result<> set_baud(int baud) override { return line_.set_baud(baud); }
      const std::string& name() const override { return line_.name(); }

     private:
      Transport& line_;
      int blocks_ = 0;
    } dies(**transport);
    ASSERT_EQ(send_file(dies, "npu.bin", image.bytes).error().kind, ErrorKind::vanished);
  }
  options_.bauds = {115200, 921600};
  const auto done = update(image_of("2.3.1"));
  ASSERT_TRUE(done) << done.error().text();
  EXPECT_EQ(running(), "2.3.1");
}

TEST_F(UpdaterTest, silenceIsATimeout) {
  power_on({"--line-fault", "silent"});
  const auto done = update(image_of("2.3.1"));
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().kind, ErrorKind::timeout);
}

}  // namespace
}  // namespace assay::firmware
