#include "firmware/serial/transport.h"

#include <gmock/gmock.h>
#include <grp.h>
#include <gtest/gtest.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <termios.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <string_view>
#include <utility>

#include "base/clock.h"
#include "firmware/serial/serialport_transport.h"
#include "tests/firmware/pseudo_terminal.h"

namespace assay::firmware {
namespace {

using testing::HasSubstr;

std::int64_t in_seconds(int seconds) {
  return monotonic_ns() + seconds * ns_per_s;
}

std::span<const std::uint8_t> bytes_of(std::string_view text) {
  return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()};
}

std::unique_ptr<Transport> open(const std::string& path) {
  auto transport = open_transport(path, 115200);
  EXPECT_TRUE(transport) << transport.error().text();
  return transport ? std::move(*transport) : nullptr;
}

Error refusal(const std::string& path, int baud = 115200) {
  const auto transport = open_transport(path, baud);
  EXPECT_FALSE(transport) << path;
  return transport ? Error{} : transport.error();
}

class Folder {
 public:
  Folder() {
    std::string name = (std::filesystem::temp_directory_path() / "assay-XXXXXX").string();
    EXPECT_NE(::mkdtemp(name.data()), nullptr);
    path = name;
  }
  ~Folder() { std::filesystem::remove_all(path); }
  std::filesystem::path path;
};

TEST(Transport, carriesEveryByteBothWays) {
  PseudoTerminal terminal;
  const auto port = open(terminal.path);
  ASSERT_TRUE(port);
  EXPECT_EQ(port->name(), terminal.path);
  std::string all;
  for (int i = 0; i < 256; ++i) all += static_cast<char>(i);

  ASSERT_TRUE(port->write(bytes_of(all), in_seconds(60)));
  std::string there(all.size(), '\0');
  ASSERT_EQ(::read(terminal.master.get(), there.data(), there.size()), 256);
  EXPECT_EQ(there, all);

  ASSERT_EQ(::write(terminal.master.get(), all.data(), all.size()), 256);
  std::string back;
  while (back.size() < all.size()) {
    std::uint8_t buffer[100];
    const auto count = port->read(buffer, in_seconds(60));
    ASSERT_TRUE(count) << count.error().text();
    back.append(reinterpret_cast<const char*>(buffer), *count);
  }
  EXPECT_EQ(back, all);
}

TEST(Transport, timesOutWhenNothingComesOrGoes) {
  PseudoTerminal terminal;
  const auto port = open(terminal.path);
  ASSERT_TRUE(port);
  std::uint8_t buffer[8];
  EXPECT_EQ(port->read(buffer, monotonic_ns()).error().kind, ErrorKind::timeout);
  const auto written = port->write(bytes_of(std::string(1 << 20, 'x')), monotonic_ns() + ns_per_ms);
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().kind, ErrorKind::timeout);
}

TEST(Transport, discardsWhatCameBefore) {
  PseudoTerminal terminal;
  const auto port = open(terminal.path);
  ASSERT_TRUE(port);
  ASSERT_EQ(::write(terminal.master.get(), "old", 3), 3);
  std::uint8_t buffer[8];
  // One byte read: the rest has arrived as well.
  ASSERT_TRUE(port->read({buffer, 1}, in_seconds(60)));
  ASSERT_TRUE(port->discard_input());
  ASSERT_EQ(::write(terminal.master.get(), "new", 3), 3);
  ASSERT_TRUE(port->read({buffer, 1}, in_seconds(60)));
  EXPECT_EQ(buffer[0], 'n');
}

TEST(Transport, tellsAHangUpFromSilence) {
  PseudoTerminal terminal;
  const auto port = open(terminal.path);
  ASSERT_TRUE(port);
  terminal.master.reset();
  std::uint8_t buffer[8];
  EXPECT_EQ(port->read(buffer, in_seconds(60)).error().kind, ErrorKind::vanished);
  EXPECT_EQ(port->write(bytes_of("x"), in_seconds(60)).error().kind, ErrorKind::vanished);
}

TEST(Transport, keepsASecondOwnerOut) {
  PseudoTerminal terminal;
  auto port = open(terminal.path);
  ASSERT_TRUE(port);
  const Error error = refusal(terminal.path);
  EXPECT_EQ(error.kind, ErrorKind::unavailable);
  EXPECT_EQ(error.what, "in use by another program");
  EXPECT_EQ(error.where, terminal.path);
  // The kernel's own lock too, for programs that take no flock; and neither outlives the owner.
  int exclusive = 0;
  ASSERT_EQ(::ioctl(terminal.slave.get(), TIOCGEXCL, &exclusive), 0);
  EXPECT_EQ(exclusive, 1);
  port.reset();
  ASSERT_EQ(::ioctl(terminal.slave.get(), TIOCGEXCL, &exclusive), 0);
  EXPECT_EQ(exclusive, 0);
  EXPECT_TRUE(open(terminal.path));
}

TEST(Transport, putsTheSettingsBack) {
  PseudoTerminal terminal;
  const auto settings = [&] {
    termios now{};
    EXPECT_EQ(::tcgetattr(terminal.slave.get(), &now), 0);
    return now;
  };
  const termios before = settings();
  auto port = open(terminal.path);
  ASSERT_TRUE(port);
  EXPECT_EQ(settings().c_lflag & (ICANON | ECHO | ISIG), 0u);
  const termios opened = settings();
  EXPECT_EQ(::cfgetospeed(&opened), static_cast<speed_t>(B115200));
  ASSERT_TRUE(port->set_baud(921600));
  const termios fast = settings();
  EXPECT_EQ(::cfgetospeed(&fast), static_cast<speed_t>(B921600));
  EXPECT_EQ(port->set_baud(12345).error().kind, ErrorKind::usage);
  port.reset();
  const termios after = settings();
  EXPECT_EQ(std::memcmp(&before, &after, sizeof before), 0);
  EXPECT_EQ(refusal(terminal.path, 0).kind, ErrorKind::usage);
  const termios refused = settings();
  EXPECT_EQ(std::memcmp(&before, &refused, sizeof before), 0);
}

TEST(Transport, followsLinksAndKeepsTheirName) {
  PseudoTerminal terminal;
  const Folder folder;
  const std::string link = folder.path / "board";
  std::filesystem::create_symlink(terminal.path, link);
  const auto port = open(link);
  ASSERT_TRUE(port);
  EXPECT_EQ(port->name(), link);
  EXPECT_EQ(refusal(terminal.path).what, "in use by another program");
}

TEST(Transport, saysWhatIsNoPort) {
  const Folder folder;
  const std::string file = folder.path / "file";
  std::ofstream(file) << "text";
  EXPECT_EQ(refusal(folder.path / "missing").kind, ErrorKind::unavailable);
  EXPECT_EQ(refusal(folder.path / "missing").what, "no such port");
  EXPECT_EQ(refusal(file + "/below").what, "no such port");
  EXPECT_EQ(refusal("").what, "no such port");
  EXPECT_EQ(refusal(file).kind, ErrorKind::usage);
  EXPECT_EQ(refusal(file).what, "not a serial port");
  EXPECT_EQ(refusal(folder.path).what, "a folder, not a serial port");
  EXPECT_THAT(refusal("/dev/null").what, HasSubstr("not a serial port"));
  std::filesystem::create_symlink("loop", folder.path / "loop");
  EXPECT_EQ(refusal(folder.path / "loop").kind, ErrorKind::io);
}

// For root, too, whom the kernel lets in.
TEST(Transport, leavesAPortToAProgramThatHoldsItByTheKernelsLockAlone) {
  PseudoTerminal terminal;
  ASSERT_EQ(::ioctl(terminal.slave.get(), TIOCEXCL), 0);
  const Error error = refusal(terminal.path);
  EXPECT_EQ(error.kind, ErrorKind::unavailable);
  EXPECT_EQ(error.what, "in use by another program");
  // And the lock to that program.
  int exclusive = 0;
  ASSERT_EQ(::ioctl(terminal.slave.get(), TIOCGEXCL, &exclusive), 0);
  EXPECT_EQ(exclusive, 1);
  ASSERT_EQ(::ioctl(terminal.slave.get(), TIOCNXCL), 0);
  EXPECT_TRUE(open(terminal.path));
}

// Root can give a port to any group, others to one of their own.
const group* some_group() {
  return ::geteuid() == 0 ? ::getgrnam("dialout") : ::getgrgid(::getegid());
}

// What a person without rights is told of a port of that group and mode. Root becomes one; others
// are its owner, and the mode gives the owner nothing.
std::string hint_without_permission(gid_t owner, mode_t mode) {
  PseudoTerminal terminal;
  const bool root = ::geteuid() == 0;
  EXPECT_EQ(::chown(terminal.path.c_str(), ::geteuid(), owner), 0);
  EXPECT_EQ(::chmod(terminal.path.c_str(), root ? mode : mode & 0077), 0);
  if (root) {
    EXPECT_EQ(::seteuid(65534), 0);
  }
  const Error error = refusal(terminal.path);
  if (root) {
    EXPECT_EQ(::seteuid(0), 0);
  }
  EXPECT_EQ(error.kind, ErrorKind::unavailable);
  EXPECT_EQ(error.what, "no permission to open the port");
  return error.hint;
}

TEST(Transport, namesTheGroupThatMayOpenThePort) {
  const group* some = some_group();
  ASSERT_NE(some, nullptr);
  const std::string name = some->gr_name;
  EXPECT_THAT(hint_without_permission(some->gr_gid, 0660),
              HasSubstr("`sudo usermod -aG " + name + " $USER`"));
}

TEST(Transport, namesNoGroupWhereNoneWouldHelp) {
  const group* some = some_group();
  ASSERT_NE(some, nullptr);
  std::vector<std::pair<gid_t, mode_t>> nodes = {
      {some->gr_gid, 0}, {some->gr_gid, 0600}, {some->gr_gid, 0640}};
  if (::geteuid() == 0) nodes.emplace_back(0, 0600);
  for (const auto& [owner, mode] : nodes) {
    const std::string hint = hint_without_permission(owner, mode);
    EXPECT_THAT(hint, HasSubstr("udev")) << owner << " " << mode;
    EXPECT_THAT(hint, testing::Not(HasSubstr("usermod"))) << owner << " " << mode;
  }
}

TEST(SerialportTransport, refusesAPseudoTerminal) {
  PseudoTerminal terminal;
  const auto port = open_serialport_transport("board", terminal.path, 115200);
  ASSERT_FALSE(port);
  EXPECT_EQ(port.error().kind, ErrorKind::usage);
  EXPECT_EQ(port.error().where, "board");
  EXPECT_THAT(port.error().what, HasSubstr("not a serial port"));
}

}  // namespace
}  // namespace assay::firmware
