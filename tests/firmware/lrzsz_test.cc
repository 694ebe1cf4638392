// Our sender and our receiver, each against lrzsz's.
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cmath>
#include <csignal>
#include <functional>
#include <optional>
#include <random>
#include <thread>

#include "base/clock.h"
#include "firmware/device/ymodem_receiver.h"
#include "firmware/serial/ymodem_sender.h"
#include "tests/base/scratch.h"
#include "tests/firmware/pseudo_terminal.h"
#include "tests/firmware/received_file.h"

namespace assay::firmware {
namespace {

using device::YmodemReceiver;
using test::Scratch;

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
  // Nothing when it has not ended by then.
  std::optional<int> wait_for(std::int64_t ns) {
    const std::int64_t deadline = monotonic_ns() + ns;
    siginfo_t ended{};
    while (waitid(P_PID, static_cast<id_t>(pid_), &ended, WEXITED | WNOHANG | WNOWAIT) == 0 &&
           ended.si_pid == 0) {
      if (monotonic_ns() >= deadline) return std::nullopt;
      poll(nullptr, 0, 10);
    }
    return wait();
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

// Our receiver at the line, until it ends. Its clock goes so many times as fast as ours.
YmodemReceiver::State receive_file(Transport& transport, Received& received, int speed = 1) {
  YmodemReceiver receiver(
      {[](void* line, const std::uint8_t* bytes, std::size_t n) {
         (void)static_cast<Transport*>(line)->write({bytes, n}, monotonic_ns() + ns_per_s);
       },
       &transport},
      received.sink());
  const auto now_ms = [speed] {
    return static_cast<std::uint32_t>(monotonic_ns() / ns_per_ms * speed);
  };
  receiver.start(now_ms());
  std::uint8_t buffer[512];
  const std::int64_t deadline = monotonic_ns() + 60 * ns_per_s;
  while (receiver.state() == YmodemReceiver::State::running && monotonic_ns() < deadline) {
    const auto got = transport.read(buffer, monotonic_ns() + 50 * ns_per_ms);
    for (std::size_t i = 0; got && i < *got; ++i) receiver.receive(buffer[i], now_ms());
    receiver.tick(now_ms());
  }
  return receiver.state();
}

// A bad line: of the bytes that go either way some are lost, some come twice, some are changed, and
// some come that nobody sent.
class NoisyLine final : public Transport {
 public:
  NoisyLine(Transport& line, unsigned seed, double trouble)
      : line_(line), random_(seed), trouble_(trouble) {}

  Result<std::size_t> read(std::span<std::uint8_t> buffer, std::int64_t deadline_ns) override {
    while (came_.empty()) {
      std::uint8_t bytes[256];
      const auto count = line_.read(bytes, deadline_ns);
      if (!count) return count;
      came_ = through({bytes, *count});
    }
    const std::size_t count = std::min(buffer.size(), came_.size());
    std::copy_n(came_.begin(), count, buffer.begin());
    came_.erase(came_.begin(), came_.begin() + static_cast<std::ptrdiff_t>(count));
    return count;
  }
  Result<> write(std::span<const std::uint8_t> bytes, std::int64_t deadline_ns) override {
    return line_.write(through(bytes), deadline_ns);
  }
  Result<> discard_input() override {
    came_.clear();
    return line_.discard_input();
  }
  Result<> set_baud(int baud) override { return line_.set_baud(baud); }
  const std::string& name() const override { return line_.name(); }

  int troubles() const { return troubles_; }

 private:
  Bytes through(std::span<const std::uint8_t> bytes) {
    Bytes out;
    for (const std::uint8_t byte : bytes) {
      if (std::uniform_real_distribution<>(0, 1)(random_) >= trouble_) {
        out.push_back(byte);
        continue;
      }
      ++troubles_;
      switch (random_() % 4) {
        case 0:
          break;
        case 1:
          out.insert(out.end(), 2, byte);
          break;
        case 2:
          out.push_back(static_cast<std::uint8_t>(byte ^ (1U << (random_() % 8))));
          break;
        default:
          out.push_back(static_cast<std::uint8_t>(random_()));
          out.push_back(byte);
      }
    }
    return out;
  }

  Transport& line_;
  std::mt19937 random_;
  double trouble_;
  Bytes came_;
  int troubles_ = 0;
};

// What became of transfers through bad lines.
struct Outcomes {
  std::atomic<int> whole = 0;
  std::atomic<int> given_up = 0;
  std::atomic<int> troubles = 0;
};

// From a line that is quiet but for a byte in 10,000 to one where no block comes through. All at
// once: they do little but wait for each other's timeouts.
void through_bad_lines(const std::function<void(unsigned seed, double trouble)>& transfer) {
  constexpr unsigned lines = 12;
  std::vector<std::jthread> threads;
  for (unsigned seed = 0; seed < lines; ++seed) {
    threads.emplace_back(transfer, seed, 1e-4 * std::pow(100.0, seed / (lines - 1.0)));
  }
}

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
      EXPECT_EQ(receive_file(**transport, received), YmodemReceiver::State::done) << blocks << size;
      EXPECT_EQ(received.bytes, content) << blocks << size;
      EXPECT_EQ(sb.wait(), 0) << blocks << size;
      // Blocks of 128 bytes make the large file a matter of many turns; once is enough.
      if (*blocks == '\0' && size > 1024) break;
    }
  }
}

TEST(Lrzsz, throughABadLineItsReceiverHasTheRightFileOrNone) {
  Outcomes outcomes;
  through_bad_lines([&](unsigned seed, double trouble) {
    const Scratch folder;
    const PseudoTerminal terminal;
    Lrzsz rb(terminal, folder, {"rb", "-y", "-q", "-t", "10"});
    auto transport = open_transport(terminal.path, 115200);
    ASSERT_TRUE(transport) << transport.error().text();
    NoisyLine line(**transport, seed, trouble);
    const Bytes content = content_of(2500 + seed);
    const auto sent = send_file(
        line, "npu.bin", content,
        {.start_timeout_ns = 3 * ns_per_s, .answer_timeout_ns = 2 * ns_per_s, .tries = 3});
    const std::optional<int> code = rb.wait_for(4 * ns_per_s);
    const std::string file = folder.content("npu.bin");
    const bool right = file == std::string(content.begin(), content.end());
    // It may wait on for the end of the batch, which was lost to it, when the file is there.
    if (sent || code == 0) {
      EXPECT_TRUE(right) << seed;
      ++outcomes.whole;
    } else {
      // What it has of a file that broke off it removes when it ends.
      EXPECT_TRUE(!code || file.empty() || right) << seed;
      ++outcomes.given_up;
    }
    outcomes.troubles += line.troubles();
  });
  EXPECT_GT(outcomes.whole, 0);
  EXPECT_GT(outcomes.given_up, 0);
  EXPECT_GT(outcomes.troubles, 40);
}

TEST(Lrzsz, throughABadLineWhatItsSenderBringsIsTheRightFileOrNone) {
  Outcomes outcomes;
  through_bad_lines([&](unsigned seed, double trouble) {
    const Scratch folder;
    const Bytes content = content_of(2500 + seed);
    folder.write("npu.bin", std::string(content.begin(), content.end()));
    const PseudoTerminal terminal;
    auto transport = open_transport(terminal.path, 115200);
    ASSERT_TRUE(transport) << transport.error().text();
    Lrzsz sb(terminal, folder, {"sb", "-k", "-q", "-t", "10", "npu.bin"});
    NoisyLine line(**transport, seed, trouble);
    Received received;
    const auto state = receive_file(line, received, 4);
    if (state == YmodemReceiver::State::done) {
      EXPECT_EQ(received.bytes, content) << seed;
      ++outcomes.whole;
    } else {
      EXPECT_NE(state, YmodemReceiver::State::running) << seed;
      ++outcomes.given_up;
    }
    outcomes.troubles += line.troubles();
  });
  EXPECT_GT(outcomes.whole, 0);
  EXPECT_GT(outcomes.given_up, 0);
  EXPECT_GT(outcomes.troubles, 40);
}

}  // namespace
}  // namespace assay::firmware
