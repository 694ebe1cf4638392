// The reference board as a process behind USB/IP, as a kernel would talk to it; and what is left
// when it is pulled out in the middle: SIGKILL, with the chip in a file.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include <csignal>
#include <memory>
#include <optional>

#include "base/fd.h"
#include "firmware/device/image_header.h"
#include "firmware/device/usbip/message.h"
#include "firmware/usb/dfu_client.h"
#include "tests/base/scratch.h"
#include "tests/firmware/bytes.h"
#include "tests/firmware/firmware_image.h"

extern char** environ;

namespace assay::firmware {
namespace {

namespace usbip = device::usbip;

// The process, and the host's end of its socket.
class Gadget {
 public:
  explicit Gadget(const std::string& chip) {
    int ends[2];
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    socket_ = UniqueFd(ends[0]);
    const UniqueFd theirs(ends[1]);
    std::vector<std::string> arguments = {ASSAY_DFU_GADGET, "--flash", chip, "--board", "m6",
                                          "--socket",       "3"};
    std::vector<char*> argv;
    for (std::string& argument : arguments) argv.push_back(argument.data());
    argv.push_back(nullptr);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_adddup2(&actions, theirs.get(), 3);
    EXPECT_EQ(::posix_spawn(&pid_, ASSAY_DFU_GADGET, &actions, nullptr, argv.data(), environ), 0);
    posix_spawn_file_actions_destroy(&actions);
  }
  ~Gadget() { kill(); }
  Gadget(const Gadget&) = delete;
  Gadget& operator=(const Gadget&) = delete;

  void kill() {
    if (pid_ < 0) return;
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
    pid_ = -1;
  }
  // Its exit code, when its socket is closed.
  int close() {
    socket_.reset();
    int status = 0;
    ::waitpid(std::exchange(pid_, -1), &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }
  int socket() const { return socket_.get(); }

 private:
  UniqueFd socket_;
  pid_t pid_ = -1;
};

bool send_all(int socket, std::span<const std::uint8_t> bytes) {
  return ::send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL) ==
         static_cast<ssize_t>(bytes.size());
}
bool receive_all(int socket, std::span<std::uint8_t> bytes) {
  return bytes.empty() || ::recv(socket, bytes.data(), bytes.size(), MSG_WAITALL) ==
                              static_cast<ssize_t>(bytes.size());
}

// What vhci_hcd does: requests out, answers in.
class UsbipControl final : public DfuControl {
 public:
  explicit UsbipControl(Gadget& gadget) : gadget_(gadget) {}

  // The board is killed when it has been sent so many more requests.
  void kill_in(int requests) { kill_at_ = requests_ + requests; }
  int requests() const { return requests_; }

  Result<Bytes> transfer(const device::SetupPacket& setup, std::span<const std::uint8_t> data) {
    const bool in = (setup.request_type & device::request_in) != 0;
    usbip::Submit submit{.sequence = ++sequence_, .in = in, .data_bytes = setup.length};
    submit.setup = {setup.request_type,
                    setup.request,
                    static_cast<std::uint8_t>(setup.value),
                    static_cast<std::uint8_t>(setup.value >> 8),
                    static_cast<std::uint8_t>(setup.index),
                    static_cast<std::uint8_t>(setup.index >> 8),
                    static_cast<std::uint8_t>(setup.length),
                    static_cast<std::uint8_t>(setup.length >> 8)};
    const bool sent =
        send_all(gadget_.socket(), usbip::write_submit(submit)) && send_all(gadget_.socket(), data);
    if (requests_++ == kill_at_) gadget_.kill();
    usbip::Message message;
    if (!sent || !receive_all(gadget_.socket(), message)) return gone();
    const auto answer = usbip::parse_submitted(message);
    if (!answer || answer->sequence != sequence_) {
      return fail(ErrorKind::io, "no answer to this", name_);
    }
    Bytes received(in ? answer->actual_bytes : 0);
    if (!receive_all(gadget_.socket(), received)) return gone();
    if (answer->status == -EPIPE) return fail(ErrorKind::protocol, "refused the request", name_);
    return received;
  }
  // What Linux does with a device that is new, or was reset. Its configuration descriptor.
  Bytes enumerate() {
    EXPECT_TRUE(transfer({0x80, 6, 0x0100, 0, 64}, {}));
    const auto configuration = transfer({0x80, 6, 0x0200, 0, 255}, {});
    EXPECT_TRUE(configuration);
    EXPECT_TRUE(transfer({0x00, 9, 1, 0, 0}, {}));
    return configuration.value_or(Bytes{});
  }

  Result<Bytes> control_in(DfuRequest request, std::uint16_t value, std::uint16_t length) override {
    return transfer({0xA1, static_cast<std::uint8_t>(request), value, 0, length}, {});
  }
  Result<> control_out(DfuRequest request, std::uint16_t value,
                       std::span<const std::uint8_t> data) override {
    const auto done = transfer({0x21, static_cast<std::uint8_t>(request), value, 0,
                                static_cast<std::uint16_t>(data.size())},
                               data);
    if (!done) return std::unexpected(done.error());
    return {};
  }
  Result<std::string> string(std::uint8_t) override { return std::string("words"); }
  Result<> reset() override {
    enumerate();
    return {};
  }
  void wait(std::int64_t ns) override {
    const timespec pause{0, static_cast<long>(ns)};  // never a second
    clock_nanosleep(CLOCK_MONOTONIC, 0, &pause, nullptr);
  }
  const std::string& name() const override { return name_; }

 private:
  std::unexpected<Error> gone() const {
    return fail(ErrorKind::vanished, "the device went away", name_);
  }

  Gadget& gadget_;
  std::string name_ = "usbip";
  std::uint32_t sequence_ = 0;
  int requests_ = 0;
  int kill_at_ = -1;
};

Bytes image(const std::string& version) {
  return test::firmware_image(version, 100'000, "m6");
}

// Plugged in and enumerated.
class Plugged {
 public:
  explicit Plugged(const std::string& chip) : gadget_(chip), wire_(gadget_) {
    configuration_ = wire_.enumerate();
    const auto found = find_dfu_functional(std::span(configuration_).subspan(18), "usbip");
    EXPECT_TRUE(found);
    client_.emplace(wire_, found.value_or(DfuFunctional{}));
  }
  bool in_dfu_mode() { return wire_.enumerate().at(16) == device::dfu_protocol_dfu; }
  void into_dfu_mode() {
    if (configuration_.at(16) == device::dfu_protocol_runtime) {
      EXPECT_TRUE(client_->detach());
    }
  }
  std::string running_version() {
    into_dfu_mode();
    const auto bytes = client_->upload(1 << 20);
    device::ImageHeader header;
    if (!bytes || bytes->size() < device::image_header_bytes ||
        device::parse_image_header(bytes->data(), &header) != device::HeaderError::none) {
      return bytes ? "none" : bytes.error().text();
    }
    return header.version;
  }
  DfuClient& client() { return *client_; }
  UsbipControl& wire() { return wire_; }
  Gadget& gadget() { return gadget_; }

 private:
  Gadget gadget_;
  UsbipControl wire_;
  Bytes configuration_;
  std::optional<DfuClient> client_;
};

TEST(DfuGadget, anEmptyChipIsFilledThenRunsAndIsKept) {
  const test::Scratch folder;
  {
    Plugged board(folder / "chip");
    const auto end = board.client().download(image("1.0.0"));
    ASSERT_TRUE(end) << end.error().text();
    EXPECT_EQ(*end, DfuEnd::needs_reset);
    ASSERT_TRUE(board.wire().reset());
    EXPECT_FALSE(board.in_dfu_mode());
    EXPECT_EQ(board.gadget().close(), 0);
  }
  for (int boots = 0; boots < 2; ++boots) {
    Plugged board(folder / "chip");
    EXPECT_EQ(board.running_version(), "1.0.0");
  }
}

TEST(DfuGadget, pulledOutAtAnyTimeItRunsAndCanBeUpdated) {
  const test::Scratch folder;
  {
    Plugged board(folder / "chip");
    ASSERT_TRUE(board.client().download(image("1.0.0")));
    ASSERT_TRUE(board.wire().reset());
  }
  std::string running = "1.0.0";
  // 49 blocks of 2048 bytes, three requests each.
  for (int request = 0; request < 160; request += 8) {
    const std::string next = "1.1." + std::to_string(request);
    {
      Plugged board(folder / "chip");
      board.into_dfu_mode();
      board.wire().kill_in(request);
      const auto end = board.client().download(image(next));
      EXPECT_TRUE(end ? request > 100 : end.error().kind == ErrorKind::vanished) << request;
    }
    Plugged board(folder / "chip");
    const std::string now = board.running_version();
    EXPECT_TRUE(now == running || (now == next && request > 100)) << request << ": " << now;
    running = now;
  }
  Plugged board(folder / "chip");
  board.into_dfu_mode();
  const auto end = board.client().download(image("2.0.0"));
  ASSERT_TRUE(end) << end.error().text();
  ASSERT_TRUE(board.wire().reset());
  EXPECT_EQ(board.gadget().close(), 0);
  EXPECT_EQ(Plugged(folder / "chip").running_version(), "2.0.0");
}

TEST(DfuGadget, whatIsNoUsbIpEndsIt) {
  const test::Scratch folder;
  Gadget gadget(folder / "chip");
  ASSERT_TRUE(send_all(gadget.socket(), Bytes(48, 0x41)));
  std::uint8_t byte = 0;
  EXPECT_EQ(::recv(gadget.socket(), &byte, 1, 0), 0);
  EXPECT_EQ(gadget.close(), 1);
}

TEST(DfuGadget, anUnlinkIsAnswered) {
  const test::Scratch folder;
  Gadget gadget(folder / "chip");
  usbip::Message unlink{};
  unlink[3] = 2;   // USBIP_CMD_UNLINK
  unlink[7] = 9;   // its sequence number
  unlink[23] = 8;  // the victim's
  ASSERT_TRUE(send_all(gadget.socket(), unlink));
  usbip::Message answer;
  ASSERT_TRUE(receive_all(gadget.socket(), answer));
  EXPECT_EQ(answer[3], 4);  // USBIP_RET_UNLINK
  EXPECT_EQ(answer[7], 9);
}

}  // namespace
}  // namespace assay::firmware
