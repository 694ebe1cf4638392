#include "firmware/serial/descriptor_io.h"

#include <fmt/core.h>
#include <poll.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <termios.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <vector>

#include "base/clock.h"
#include "base/file_group.h"

namespace assay::firmware {
namespace {

std::unexpected<Error> vanished(const std::string& name) {
  return fail(ErrorKind::vanished, "the port went away", name,
              "check the cable and the board's power, then start again");
}

std::unexpected<Error> busy(const std::string& name) {
  return fail(ErrorKind::unavailable, "in use by another program", name,
              fmt::format("close it (`fuser {}` names it); ModemManager probes new ports for some "
                          "seconds after they are plugged in",
                          name));
}

// Which of `events` (or a hang-up) is there; 0 at the deadline.
Result<short> wait_for(int fd, short events, std::int64_t deadline_ns, const std::string& name) {
  for (;;) {
    const std::int64_t left = std::max<std::int64_t>(deadline_ns - monotonic_ns(), 0);
    const timespec timeout{static_cast<time_t>(left / ns_per_s),
                           static_cast<long>(left % ns_per_s)};
    pollfd port{fd, events, 0};
    const int ready = ::ppoll(&port, 1, &timeout, nullptr);
    if (ready >= 0) return port.revents;
    if (errno != EINTR) return port_failure(errno, "wait for the port", name);
  }
}

}  // namespace

// After an unplug a terminal reads as "no bytes" when VMIN is 0, as libserialport has it: only the
// hang-up that poll reports tells it from silence.
Result<std::size_t> read_some(int fd, std::span<std::uint8_t> buffer, std::int64_t deadline_ns,
                              const std::string& name) {
  for (;;) {
    const auto events = wait_for(fd, POLLIN, deadline_ns, name);
    if (!events) return std::unexpected(events.error());
    if (*events == 0) return fail(ErrorKind::timeout, "no bytes came", name);
    if (*events & POLLIN) {
      const ssize_t count = ::read(fd, buffer.data(), buffer.size());
      if (count > 0) return static_cast<std::size_t>(count);
      if (count < 0 && errno != EAGAIN && errno != EINTR) {
        return port_failure(errno, "read", name);
      }
    }
    if (*events & (POLLHUP | POLLERR | POLLNVAL)) return vanished(name);
  }
}

Result<> write_all(int fd, std::span<const std::uint8_t> bytes, std::int64_t deadline_ns,
                   const std::string& name) {
  while (!bytes.empty()) {
    const auto events = wait_for(fd, POLLOUT, deadline_ns, name);
    if (!events) return std::unexpected(events.error());
    if (*events & (POLLHUP | POLLERR | POLLNVAL)) return vanished(name);
    if (*events == 0) {
      return fail(ErrorKind::timeout, fmt::format("the port did not take {} bytes", bytes.size()),
                  name);
    }
    const ssize_t count = ::write(fd, bytes.data(), bytes.size());
    if (count >= 0) {
      bytes = bytes.subspan(static_cast<std::size_t>(count));
    } else if (errno != EAGAIN && errno != EINTR) {
      return port_failure(errno, "write", name);
    }
  }
  return {};
}

Result<> drop_input(int fd, const std::string& name) {
  if (::tcflush(fd, TCIFLUSH) != 0) return port_failure(errno, "drop the input", name);
  return {};
}

Result<> lock_port(int fd, const std::string& name) {
  if (::flock(fd, LOCK_EX | LOCK_NB) != 0) {
    if (errno == EWOULDBLOCK) return busy(name);
    return port_failure(errno, "lock the port", name);
  }
  // open(2) heeds it for all but root.
  int exclusive = 0;
  if (::ioctl(fd, TIOCGEXCL, &exclusive) != 0) return port_failure(errno, "lock the port", name);
  if (exclusive != 0) return busy(name);
  if (::ioctl(fd, TIOCEXCL) != 0) return port_failure(errno, "lock the port", name);
  return {};
}

void unlock_port(int fd) {
  ::ioctl(fd, TIOCNXCL);
}

std::unexpected<Error> open_failure(int error_number, const std::string& path) {
  if (error_number == EBUSY) return busy(path);
  if (error_number == EACCES || error_number == EPERM) {
    const std::string group = file_group(path);
    return fail(ErrorKind::unavailable, "no permission to open the port", path,
                group.empty()
                    ? "no group has access to it: run as root, or give your user access by a udev "
                      "rule"
                    : fmt::format("it belongs to group {0}: `sudo usermod -aG {0} $USER`, then log "
                                  "in again",
                                  group));
  }
  return fail_errno(error_number, "cannot open the port", path);
}

std::unexpected<Error> port_failure(int error_number, const std::string& operation,
                                    const std::string& name) {
  if (error_number == ENOTTY) return fail(ErrorKind::usage, "not a serial port", name);
  if (error_number == EIO || error_number == ENXIO || error_number == ENODEV) {
    return vanished(name);
  }
  return fail_errno(error_number, "cannot " + operation, name);
}

}  // namespace assay::firmware
