// Our sender and our receiver, against each other through a bad line, and each against lrzsz.
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmath>
#include <cstring>
#include <deque>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>

#include "firmware/device/checksum.h"
#include "firmware/device/ymodem_receiver.h"
#include "firmware/serial/ymodem_sender.h"
#include "tests/base/scratch.h"
#include "tests/firmware/pseudo_terminal.h"

namespace assay::firmware {
namespace {

using device::YmodemReceiver;
using Bytes = std::vector<std::uint8_t>;
using test::Scratch;

Bytes content_of(std::size_t size) {
  Bytes bytes(size);
  std::mt19937 random(static_cast<unsigned>(size));
  for (auto& byte : bytes) byte = static_cast<std::uint8_t>(random());
  return bytes;
}

// What the receiver made of it.
struct Received {
  std::string name;
  std::uint32_t announced = 0;
  bool size_known = false;
  Bytes bytes;
  std::uint32_t most = UINT32_MAX;  // more than this is refused

  device::FileSink sink() {
    return {this,
            [](void* self, const char* text, std::uint32_t size, bool known) {
              auto& r = *static_cast<Received*>(self);
              r.name = text;
              r.announced = size;
              r.size_known = known;
              r.bytes.clear();
              return size <= r.most;
            },
            [](void* self, const std::uint8_t* data, std::uint32_t size) {
              auto& r = *static_cast<Received*>(self);
              r.bytes.insert(r.bytes.end(), data, data + size);
              return r.bytes.size() <= r.most;
            }};
  }
};

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
  class Endless final : public Transport {
   public:
    explicit Endless(std::uint8_t byte) : byte_(byte) {}
    Result<std::size_t> read(std::span<std::uint8_t> buffer, std::int64_t) override {
      buffer[0] = byte_;
      return 1;
    }
    Result<> write(std::span<const std::uint8_t>, std::int64_t) override { return {}; }
    Result<> discard_input() override { return {}; }
    Result<> set_baud(int) override { return {}; }
    const std::string& name() const override { return name_; }

   private:
    std::uint8_t byte_;
    std::string name_ = "endless";
  };
  for (const std::uint8_t byte : {'C', 'x', '\x15'}) {
    Endless wire(byte);
    ModemOptions options = quick();
    options.start_timeout_ns = 50 * ns_per_ms;
    const auto sent = send_file(wire, "npu.bin", content_of(300), options);
    ASSERT_FALSE(sent) << byte;
    EXPECT_EQ(sent.error().kind, ErrorKind::timeout) << byte;
  }
}

// Its power stays on, and whoever comes next asks who is there: that is no sign of the sender.
TEST(Ymodem, aReceiverWhoseSenderIsGoneGivesUpThoughSomebodyAsks) {
  Received received;
  std::vector<std::uint8_t> said;
  YmodemReceiver receiver({[](void* to, const std::uint8_t* bytes, std::size_t size) {
                             auto& all = *static_cast<std::vector<std::uint8_t>*>(to);
                             all.insert(all.end(), bytes, bytes + size);
                           },
                           &said},
                          received.sink());
  receiver.start(0);
  Bytes header(133, 0);
  header[0] = 0x01;
  header[2] = 0xFF;
  std::memcpy(&header[3], "npu.bin\0009999", 12);
  const std::uint16_t crc = device::crc16_xmodem(&header[3], 128);
  header[131] = static_cast<std::uint8_t>(crc >> 8);
  header[132] = static_cast<std::uint8_t>(crc);
  for (const std::uint8_t byte : header) receiver.receive(byte, 10);
  ASSERT_EQ(received.name, "npu.bin");
  std::uint32_t now = 10;
  for (; receiver.state() == YmodemReceiver::State::running && now < 200'000; now += 100) {
    receiver.tick(now);
    for (const char c : std::string("\rAT\r")) {
      receiver.receive(static_cast<std::uint8_t>(c), now);
    }
  }
  EXPECT_EQ(receiver.state(), YmodemReceiver::State::failed);
  EXPECT_LE(now, 31'000u);
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

// The receiver alone, byte by byte.
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

// lrzsz at the other end of a pseudo-terminal, in a folder of its own.
class Lrzsz {
 public:
  Lrzsz(const PseudoTerminal& terminal, const Scratch& folder, std::vector<std::string> command) {
    std::vector<char*> argv;
    for (auto& word : command) argv.push_back(word.data());
    argv.push_back(nullptr);
    const std::string path = folder.root();
    pid_ = fork();
    if (pid_ == 0) {
      // Only async-signal-safe calls here.
      dup2(terminal.master.get(), 0);
      dup2(terminal.master.get(), 1);
      if (chdir(path.c_str()) != 0) _exit(126);
      execvp(argv[0], argv.data());
      _exit(127);
    }
  }
  int wait() {
    int status = -1;
    waitpid(pid_, &status, 0);
    pid_ = -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }
  ~Lrzsz() {
    if (pid_ > 0) {
      kill(pid_, SIGKILL);
      waitpid(pid_, nullptr, 0);
    }
  }

 private:
  pid_t pid_ = -1;
};

const std::size_t interop_sizes[] = {0, 1, 127, 128, 1023, 1024, 1025, 4 << 20};

TEST(Lrzsz, itsReceiverTakesWhatWeSend) {
  for (const std::size_t size : interop_sizes) {
    const Scratch folder;
    const PseudoTerminal terminal;
    Lrzsz rb(terminal, folder, {"rb", "-y", "-q"});
    auto transport = open_transport(terminal.path, 115200);
    ASSERT_TRUE(transport) << transport.error().text();
    const Bytes content = content_of(size);
    // A block that it flushes away on a busy machine is sent again soon.
    const auto sent = send_file(**transport, "npu.bin", content, {.answer_timeout_ns = ns_per_s});
    ASSERT_TRUE(sent) << size << " " << sent.error().text();
    EXPECT_EQ(rb.wait(), 0) << size;
    EXPECT_EQ(folder.content("npu.bin"), std::string(content.begin(), content.end())) << size;
  }
}

TEST(Lrzsz, itsXmodemReceiverTakesWhatWeSend) {
  const Scratch folder;
  const PseudoTerminal terminal;
  Lrzsz rx(terminal, folder, {"rx", "-c", "-q", "npu.bin"});
  auto transport = open_transport(terminal.path, 115200);
  ASSERT_TRUE(transport);
  const Bytes content = content_of(3000);
  // When it leaves it may throw away the ACK that it has just sent for the end of the file; then
  // the sender cannot know. What counts here is the file.
  const auto sent =
      send_file(**transport, "npu.bin", content, {.protocol = XyModem::xmodem_1k, .tries = 2});
  if (!sent) {
    EXPECT_EQ(sent.error().what, "the receiver did not take the end of the file");
  }
  EXPECT_EQ(rx.wait(), 0);
  // XMODEM knows no length: the last block is filled up.
  EXPECT_EQ(folder.content("npu.bin").substr(0, 3000), std::string(content.begin(), content.end()));
}

TEST(Lrzsz, itsSenderIsUnderstood) {
  for (const char* blocks : {"-k", ""}) {
    for (const std::size_t size : interop_sizes) {
      const Scratch folder;
      const Bytes content = content_of(size);
      folder.write("npu.bin", std::string(content.begin(), content.end()));
      const PseudoTerminal terminal;
      auto transport = open_transport(terminal.path, 115200);
      ASSERT_TRUE(transport);
      std::vector<std::string> command = {"sb", "-q", "npu.bin"};
      if (*blocks != '\0') command.insert(command.begin() + 1, blocks);
      Lrzsz sb(terminal, folder, command);
      Received received;
      YmodemReceiver receiver(
          {[](void* self, const std::uint8_t* bytes, std::size_t n) {
             (void)static_cast<Transport*>(self)->write({bytes, n}, monotonic_ns() + ns_per_s);
           },
           transport->get()},
          received.sink());
      const auto now_ms = [] { return static_cast<std::uint32_t>(monotonic_ns() / ns_per_ms); };
      receiver.start(now_ms());
      std::uint8_t buffer[512];
      const std::int64_t deadline = monotonic_ns() + 60 * ns_per_s;
      while (receiver.state() == YmodemReceiver::State::running && monotonic_ns() < deadline) {
        const auto got = (*transport)->read(buffer, monotonic_ns() + 50 * ns_per_ms);
        for (std::size_t i = 0; got && i < *got; ++i) receiver.receive(buffer[i], now_ms());
        receiver.tick(now_ms());
      }
      EXPECT_EQ(receiver.state(), YmodemReceiver::State::done) << blocks << size;
      EXPECT_EQ(received.bytes, content) << blocks << size;
      EXPECT_EQ(sb.wait(), 0) << blocks << size;
      // Blocks of 128 bytes make the large file a matter of many turns; once is enough.
      if (*blocks == '\0' && size > 1024) break;
    }
  }
}

}  // namespace
}  // namespace assay::firmware
