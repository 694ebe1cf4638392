#include "firmware/serial/termios_transport.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <termios.h>

#include <cerrno>
#include <utility>

#include "base/fd.h"
#include "firmware/serial/descriptor_io.h"

namespace assay::firmware {
namespace {

struct Rate {
  int baud;
  speed_t code;
};

constexpr Rate rates[] = {{9600, B9600},       {19200, B19200},     {38400, B38400},
                          {57600, B57600},     {115200, B115200},   {230400, B230400},
                          {460800, B460800},   {500000, B500000},   {576000, B576000},
                          {921600, B921600},   {1000000, B1000000}, {1152000, B1152000},
                          {1500000, B1500000}, {2000000, B2000000}, {2500000, B2500000},
                          {3000000, B3000000}, {3500000, B3500000}, {4000000, B4000000}};

class TermiosTransport final : public Transport {
 public:
  TermiosTransport(UniqueFd fd, std::string name, const termios& previous)
      : fd_(std::move(fd)), name_(std::move(name)), previous_(previous) {}
  ~TermiosTransport() override {
    ::tcsetattr(fd_.get(), TCSANOW, &previous_);
    unlock_port(fd_.get());
  }

  Result<std::size_t> read(std::span<std::uint8_t> buffer, std::int64_t deadline_ns) override {
    return read_some(fd_.get(), buffer, deadline_ns, name_);
  }
  Result<> write(std::span<const std::uint8_t> bytes, std::int64_t deadline_ns) override {
    return write_all(fd_.get(), bytes, deadline_ns, name_);
  }
  Result<> discard_input() override { return drop_input(fd_.get(), name_); }
  Result<> set_baud(int baud) override;
  const std::string& name() const override { return name_; }

 private:
  UniqueFd fd_;
  std::string name_;
  termios previous_;
};

Result<> TermiosTransport::set_baud(int baud) {
  for (const Rate& rate : rates) {
    if (rate.baud != baud) continue;
    termios settings{};
    if (::tcgetattr(fd_.get(), &settings) != 0) return port_failure(errno, "set the rate", name_);
    ::cfsetspeed(&settings, rate.code);
    if (::tcsetattr(fd_.get(), TCSANOW, &settings) != 0) {
      return port_failure(errno, "set the rate", name_);
    }
    return {};
  }
  return fail(ErrorKind::usage, fmt::format("cannot run at {} baud", baud), name_,
              "use a standard rate: 9600, 115200, 921600");
}

// As cfmakeraw, with modem lines ignored: nothing drives them here.
termios raw(termios settings) {
  ::cfmakeraw(&settings);
  settings.c_cflag &= ~static_cast<tcflag_t>(CSTOPB | CRTSCTS);
  settings.c_cflag |= CREAD | CLOCAL;
  settings.c_iflag &= ~static_cast<tcflag_t>(IXOFF | IXANY);
  settings.c_cc[VMIN] = 1;
  settings.c_cc[VTIME] = 0;
  return settings;
}

}  // namespace

Result<std::unique_ptr<Transport>> open_termios_transport(const std::string& path, int baud) {
  UniqueFd fd(::open(path.c_str(), O_RDWR | O_NOCTTY | O_NONBLOCK | O_CLOEXEC));
  if (!fd) return open_failure(errno, path);
  // Locked before it is looked at: the last owner has put its settings back by then.
  if (auto locked = lock_port(fd.get(), path); !locked) return std::unexpected(locked.error());
  termios previous{};
  const bool known = ::tcgetattr(fd.get(), &previous) == 0;
  const termios settings = raw(previous);
  if (!known || ::tcsetattr(fd.get(), TCSANOW, &settings) != 0) {
    const int error_number = errno;
    unlock_port(fd.get());
    return port_failure(error_number, "set up the port", path);
  }
  auto transport = std::make_unique<TermiosTransport>(std::move(fd), path, previous);
  if (auto set = transport->set_baud(baud); !set) return std::unexpected(set.error());
  return transport;
}

}  // namespace assay::firmware
