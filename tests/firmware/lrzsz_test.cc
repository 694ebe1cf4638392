// Our sender and our receiver, each against lrzsz's.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

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
