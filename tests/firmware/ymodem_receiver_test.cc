// The receiver alone, byte by byte.
#include "firmware/device/ymodem_receiver.h"

#include <gtest/gtest.h>

#include "firmware/device/checksum.h"
#include "tests/firmware/received_file.h"

namespace assay::firmware {
namespace {

using device::YmodemReceiver;

class Receiver : public testing::Test {
 protected:
  Receiver() { receiver_.start(0); }
  void send(const Bytes& bytes) {
    for (const std::uint8_t byte : bytes) receiver_.receive(byte, now_ms_);
  }
  static Bytes block(std::uint8_t number, Bytes data, std::size_t size) {
    data.resize(size);
    Bytes all;
    all.reserve(size + 5);
    all.push_back(size == 128 ? 1 : 2);
    all.push_back(number);
    all.push_back(static_cast<std::uint8_t>(~number));
    all.insert(all.end(), data.begin(), data.end());
    const std::uint16_t crc = device::crc16_xmodem(data.data(), data.size());
    all.push_back(static_cast<std::uint8_t>(crc >> 8));
    all.push_back(static_cast<std::uint8_t>(crc));
    return all;
  }
  static Bytes header(const std::string& text) { return block(0, {text.begin(), text.end()}, 128); }
  void wait(std::uint32_t ms) {
    for (std::uint32_t end = now_ms_ + ms; now_ms_ != end;) receiver_.tick(now_ms_ += 50);
  }

  std::string sent_;
  Received received_;
  std::uint32_t now_ms_ = 0;
  YmodemReceiver receiver_{{[](void* out, const std::uint8_t* bytes, std::size_t size) {
                              static_cast<std::string*>(out)->append(
                                  reinterpret_cast<const char*>(bytes), size);
                            },
                            &sent_},
                           received_.sink()};
};

TEST_F(Receiver, asksOnceASecondAndGivesUpAfterAMinute) {
  wait(10'000);
  EXPECT_EQ(sent_, std::string(11, 'C'));
  wait(60'000);
  EXPECT_EQ(receiver_.state(), YmodemReceiver::State::silent);
}

TEST_F(Receiver, oneCancelIsNoiseAndTwoAreNot) {
  send({0x18, 'x', 0x18});
  EXPECT_EQ(receiver_.state(), YmodemReceiver::State::running);
  send({0x18});
  EXPECT_EQ(receiver_.state(), YmodemReceiver::State::cancelled);
}

TEST_F(Receiver, aRepeatedBlockIsAcknowledgedAndNotKeptTwice) {
  send(
      header(std::string("f\0"
                         "300",
                         5)));
  send(block(1, Bytes(128, 'a'), 128));
  send(block(1, Bytes(128, 'a'), 128));
  send(block(2, Bytes(172, 'b'), 1024));
  send({4, 4});
  EXPECT_EQ(sent_, "C\6C\6\6\6\x15\6C");
  EXPECT_EQ(received_.bytes.size(), 300U);
  send(header(""));
  EXPECT_EQ(receiver_.state(), YmodemReceiver::State::done);
}

TEST_F(Receiver, anEndThatCameOutOfNoiseEndsNothing) {
  send(
      header(std::string("f\0"
                         "256",
                         5)));
  send(block(1, Bytes(128, 'a'), 128));
  send({4});
  EXPECT_EQ(sent_.back(), 0x15);
  send(block(2, Bytes(128, 'b'), 128));
  EXPECT_EQ(received_.bytes.size(), 256U);
  EXPECT_EQ(receiver_.state(), YmodemReceiver::State::running);
}

TEST_F(Receiver, aFileShorterOrLongerThanAnnouncedIsNone) {
  send(
      header(std::string("f\0"
                         "256",
                         5)));
  send(block(1, Bytes(128, 'a'), 128));
  send({4, 4});
  EXPECT_EQ(receiver_.state(), YmodemReceiver::State::refused);
  receiver_.start(now_ms_);
  send(
      header(std::string("f\0"
                         "128",
                         5)));
  send(block(1, Bytes(128, 'a'), 128));
  send(block(2, Bytes(128, 'a'), 128));
  EXPECT_EQ(receiver_.state(), YmodemReceiver::State::refused);
}

TEST_F(Receiver, aMissingBlockEndsTheTransfer) {
  send(
      header(std::string("f\0"
                         "9999",
                         6)));
  send(block(1, {}, 128));
  send(block(3, {}, 128));
  EXPECT_EQ(receiver_.state(), YmodemReceiver::State::failed);
}

TEST_F(Receiver, theNumberWrapsToZero) {
  send(
      header(std::string("f\0"
                         "99999",
                         7)));
  for (int i = 1; i <= 300; ++i) {
    send(block(static_cast<std::uint8_t>(i), Bytes(128, static_cast<std::uint8_t>(i)), 128));
  }
  EXPECT_EQ(receiver_.state(), YmodemReceiver::State::running);
  EXPECT_EQ(received_.bytes.size(), 300U * 128);
}

// Its power stays on, and whoever comes next asks who is there: that is no sign of the sender.
TEST_F(Receiver, givesUpWhenItsSenderIsGoneThoughSomebodyAsks) {
  send(
      header(std::string("npu.bin\0"
                         "9999",
                         12)));
  ASSERT_EQ(received_.name, "npu.bin");
  while (receiver_.state() == YmodemReceiver::State::running && now_ms_ < 200'000) {
    wait(100);
    send({'\r', 'A', 'T', '\r'});
  }
  EXPECT_EQ(receiver_.state(), YmodemReceiver::State::failed);
  EXPECT_LE(now_ms_, 31'000U);
}

}  // namespace
}  // namespace assay::firmware
