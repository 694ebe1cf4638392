// Our sender and our receiver, against each other through a bad line.
#include <gtest/gtest.h>
#include <poll.h>

#include <cmath>
#include <deque>
#include <random>

#include "base/clock.h"
#include "firmware/device/ymodem_receiver.h"
#include "firmware/serial/ymodem_sender.h"
#include "tests/firmware/endless_line.h"
#include "tests/firmware/received_file.h"

namespace assay::firmware {
namespace {

using device::YmodemReceiver;

// The receiver at the other end of a wire on which bytes are lost, doubled and changed. Its clock
// goes 25 times as fast as ours: its timeouts are for real lines.
class Wire final : public Transport {
 public:
  Wire(Received& received, unsigned seed, double trouble)
      : trouble_(trouble), random_(seed), receiver_(port(), received.sink()) {
    receiver_.start(now_ms());
  }

  Result<std::size_t> read(std::span<std::uint8_t> buffer, std::int64_t deadline_ns) override {
    for (receiver_.tick(now_ms()); answers_.empty(); receiver_.tick(now_ms())) {
      if (monotonic_ns() >= deadline_ns) return fail(ErrorKind::timeout, "nothing came", name_);
      poll(nullptr, 0, 1);
    }
    const std::size_t n = std::min(buffer.size(), answers_.size());
    std::copy_n(answers_.begin(), n, buffer.begin());
    answers_.erase(answers_.begin(), answers_.begin() + static_cast<std::ptrdiff_t>(n));
    return n;
  }
  Result<> write(std::span<const std::uint8_t> bytes, std::int64_t) override {
    for (const std::uint8_t byte : bytes) {
      through_the_wire(byte, [&](std::uint8_t b) { receiver_.receive(b, now_ms()); });
    }
    return {};
  }
  Result<> discard_input() override {
    answers_.clear();
    return {};
  }
  Result<> set_baud(int) override { return {}; }
  const std::string& name() const override { return name_; }

  YmodemReceiver::State state() const { return receiver_.state(); }
  // That one of the receiver's bytes comes twice, from 1.
  void double_answer(int nth) { doubled_ = nth; }
  int answers() const { return sent_; }
  void let_it_time_out() {
    std::uint32_t later = now_ms();
    for (int i = 0; i < 10'000 && state() == YmodemReceiver::State::running; ++i) {
      receiver_.tick(later += 100);
    }
  }

 private:
  // Wraps in the middle of most transfers.
  std::uint32_t now_ms() const {
    return static_cast<std::uint32_t>((monotonic_ns() - start_ns_) * 25 / ns_per_ms) - 2000;
  }
  device::Port port() {
    return {[](void* self, const std::uint8_t* bytes, std::size_t size) {
              auto& wire = *static_cast<Wire*>(self);
              for (std::size_t i = 0; i < size; ++i) {
                if (++wire.sent_ == wire.doubled_) wire.answers_.push_back(bytes[i]);
                wire.through_the_wire(bytes[i],
                                      [&](std::uint8_t b) { wire.answers_.push_back(b); });
              }
            },
            this};
  }
  template <class Deliver>
  void through_the_wire(std::uint8_t byte, const Deliver& deliver) {
    if (std::uniform_real_distribution<>(0, 1)(random_) >= trouble_) return deliver(byte);
    switch (random_() % 4) {
      case 0:
        return;  // lost
      case 1:
        deliver(byte);
        return deliver(byte);
      case 2:
        return deliver(static_cast<std::uint8_t>(byte ^ (1U << (random_() % 8))));
      default:
        deliver(static_cast<std::uint8_t>(random_()));
        return deliver(byte);
    }
  }

  std::string name_ = "wire";
  double trouble_;
  std::mt19937 random_;
  std::deque<std::uint8_t> answers_;
  int sent_ = 0;
  int doubled_ = 0;
  std::int64_t start_ns_ = monotonic_ns();
  YmodemReceiver receiver_;
};

ModemOptions quick() {
  return {.start_timeout_ns = 2 * ns_per_s, .answer_timeout_ns = 100 * ns_per_ms};
}

TEST(Ymodem, bringsAFileOfAnySize) {
  for (const std::size_t size : {0, 1, 127, 128, 129, 511, 512, 513, 1023, 1024, 1025, 300'000}) {
    Received received;
    Wire wire(received, 1, 0);
    const Bytes content = content_of(size);
    std::uint64_t shown = 0;
    ModemOptions options = quick();
    options.on_progress = [&](std::uint64_t sent) { shown = sent; };
    const auto sent = send_file(wire, "npu.bin", content, options);
    ASSERT_TRUE(sent) << size << " " << sent.error().text();
    EXPECT_EQ(wire.state(), YmodemReceiver::State::done) << size;
    EXPECT_EQ(received.name, "npu.bin");
    EXPECT_TRUE(received.size_known);
    EXPECT_EQ(received.announced, size);
    EXPECT_EQ(received.bytes, content) << size;
    EXPECT_EQ(shown, size);
  }
}

TEST(Ymodem, throughABadLineTheFileIsRightOrThereIsNone) {
  int whole = 0;
  int given_up = 0;
  for (unsigned seed = 0; seed < 40; ++seed) {
    Received received;
    // From one byte in 20,000 to one in 200.
    Wire wire(received, seed, 5e-5 * std::pow(100.0, seed / 39.0));
    const Bytes content = content_of(20'000 + seed);
    const auto sent = send_file(wire, "npu.bin", content, quick());
    wire.let_it_time_out();
    if (wire.state() == YmodemReceiver::State::done) {
      EXPECT_EQ(received.bytes, content) << seed;
      ++whole;
    } else {
      EXPECT_FALSE(sent) << seed;
      ++given_up;
    }
  }
  EXPECT_GT(whole, 10);
  EXPECT_GT(given_up, 0);
}

TEST(Ymodem, anAnswerThatComesTwiceIsNoAnswerToSomethingElse) {
  const Bytes content = content_of(12'000);
  int answers = 100;
  for (int nth = 1; nth <= answers; ++nth) {
    Received received;
    Wire wire(received, 1, 0);
    wire.double_answer(nth);
    const auto sent = send_file(wire, "npu.bin", content, quick());
    ASSERT_TRUE(sent) << nth << " " << sent.error().text();
    EXPECT_EQ(wire.state(), YmodemReceiver::State::done) << nth;
    EXPECT_EQ(received.bytes, content) << nth;
    answers = wire.answers();
  }
  EXPECT_GT(answers, 12);
}

// A stale ACK that arrives when the next block is on its way: all that follow are one behind, and
// the end's is the last block's.
TEST(Ymodem, anEndThatWasNotTakenIsSaidAgain) {
  class OneBehind final : public Transport {
   public:
    Result<std::size_t> read(std::span<std::uint8_t> buffer, std::int64_t) override {
      if (answers_.empty()) return fail(ErrorKind::timeout, "nothing came", name_);
      buffer[0] = answers_.front();
      answers_.pop_front();
      return 1;
    }
    Result<> write(std::span<const std::uint8_t> bytes, std::int64_t) override {
      if (bytes.size() == 1 && bytes[0] == 0x04) {
        // The first: the last block's ACK, then NAK. The second: taken.
        answers_.push_back(0x06);
        answers_.push_back(++ends == 1 ? 0x15 : 'C');
      } else {
        answers_.push_back(0x06);
        if (bytes[1] == 0 && ends == 0) answers_.push_back('C');
      }
      return {};
    }
    Result<> discard_input() override { return {}; }
    Result<> set_baud(int) override { return {}; }
    const std::string& name() const override { return name_; }
    int ends = 0;

   private:
    std::deque<std::uint8_t> answers_ = {'C'};
    std::string name_ = "behind";
  } wire;
  ASSERT_TRUE(send_file(wire, "npu.bin", content_of(300), quick()));
  EXPECT_EQ(wire.ends, 2);
}

TEST(Ymodem, aLineThatNeverFallsSilentHasADeadlineToo) {
  for (const std::uint8_t byte : {'C', 'x', '\x15'}) {
    EndlessLine wire(byte);
    ModemOptions options = quick();
    options.start_timeout_ns = 50 * ns_per_ms;
    const auto sent = send_file(wire, "npu.bin", content_of(300), options);
    ASSERT_FALSE(sent) << byte;
    EXPECT_EQ(sent.error().kind, ErrorKind::timeout) << byte;
  }
}

// Says nothing.
class SilentLine final : public Transport {
 public:
  Result<std::size_t> read(std::span<std::uint8_t>, std::int64_t) override {
    return fail(ErrorKind::timeout, "no bytes came", name_);
  }
  Result<> write(std::span<const std::uint8_t> bytes, std::int64_t) override {
    if (first_write.empty()) first_write.assign(bytes.begin(), bytes.end());
    return {};
  }
  Result<> discard_input() override { return {}; }
  Result<> set_baud(int) override { return {}; }
  const std::string& name() const override { return name_; }

  Bytes first_write;

 private:
  std::string name_ = "silent";
};

// With the OK before it, say.
TEST(Ymodem, anInvitationThatWasReadBeforeCounts) {
  const auto first_byte_after = [](std::string received) {
    SilentLine line;
    ModemOptions options{.start_timeout_ns = 100 * ns_per_ms, .answer_timeout_ns = 1, .tries = 1};
    options.received = std::move(received);
    EXPECT_FALSE(send_file(line, "npu.bin", content_of(10), options));
    return line.first_write.at(0);
  };
  constexpr std::uint8_t soh = 1;
  constexpr std::uint8_t can = 0x18;
  EXPECT_EQ(first_byte_after("\nC"), soh);
  EXPECT_EQ(first_byte_after(std::string(1000, '.') + "C"), soh);
  for (const char* other : {"", "\n", "C\n", "Cold start"}) {
    EXPECT_EQ(first_byte_after(other), can) << other;
  }
}

TEST(Ymodem, aReceiverThatRefusesIsHeard) {
  Received received;
  received.most = 1000;
  Wire wire(received, 1, 0);
  const auto sent = send_file(wire, "npu.bin", content_of(1001), quick());
  ASSERT_FALSE(sent);
  EXPECT_EQ(sent.error().kind, ErrorKind::protocol);
  EXPECT_EQ(wire.state(), YmodemReceiver::State::refused);
}

TEST(Ymodem, aCancelledTransferIsToldToTheReceiver) {
  Received received;
  Wire wire(received, 1, 0);
  CancelToken cancel;
  ModemOptions options = quick();
  options.cancel = &cancel;
  options.on_progress = [&](std::uint64_t sent) {
    if (sent > 3000) cancel.cancel();
  };
  const auto sent = send_file(wire, "npu.bin", content_of(100'000), options);
  ASSERT_FALSE(sent);
  EXPECT_EQ(sent.error().kind, ErrorKind::cancelled);
  EXPECT_EQ(wire.state(), YmodemReceiver::State::cancelled);
}

TEST(Ymodem, namesThatAFileSystemCouldMistakeAreRefused) {
  Received received;
  Wire wire(received, 1, 0);
  for (const std::string& name :
       {std::string(), std::string("../x"), std::string("a b"), std::string(101, 'a')}) {
    EXPECT_EQ(send_file(wire, name, content_of(1)).error().kind, ErrorKind::usage) << name;
  }
}

}  // namespace
}  // namespace assay::firmware
