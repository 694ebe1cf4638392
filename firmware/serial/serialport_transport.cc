#include "firmware/serial/serialport_transport.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <libserialport.h>

#include <cerrno>
#include <utility>

#include "firmware/serial/descriptor_io.h"

namespace assay::firmware {
namespace {

struct PortDeleter {
  void operator()(sp_port* port) const { sp_free_port(port); }
};
using PortPointer = std::unique_ptr<sp_port, PortDeleter>;

class SerialportTransport final : public Transport {
 public:
  // `port` is open; `fd` is its handle, which libserialport opens non-blocking.
  SerialportTransport(PortPointer port, int fd, std::string name)
      : port_(std::move(port)), fd_(fd), name_(std::move(name)) {}
  ~SerialportTransport() override {
    unlock_port(fd_);
    sp_close(port_.get());
  }

  // On the handle itself: libserialport's own reads report an unplug as a timeout.
  Result<std::size_t> read(std::span<std::uint8_t> buffer, std::int64_t deadline_ns) override {
    return read_some(fd_, buffer, deadline_ns, name_);
  }
  Result<> write(std::span<const std::uint8_t> bytes, std::int64_t deadline_ns) override {
    return write_all(fd_, bytes, deadline_ns, name_);
  }
  Result<> discard_input() override { return drop_input(fd_, name_); }
  Result<> set_baud(int baud) override;
  const std::string& name() const override { return name_; }

  // sp_open makes the port raw and leaves the rest as the last program had it.
  Result<> set_up(int baud);

 private:
  PortPointer port_;
  int fd_;
  std::string name_;
};

Result<> SerialportTransport::set_baud(int baud) {
  if (baud > 0) {
    const sp_return result = sp_set_baudrate(port_.get(), baud);
    if (result == SP_OK) return {};
    if (result == SP_ERR_FAIL && errno != EINVAL) {
      return port_failure(errno, "set the rate", name_);
    }
  }
  return fail(ErrorKind::usage, fmt::format("cannot run at {} baud", baud), name_,
              "use a rate that the adapter can do: 9600, 115200, 921600");
}

Result<> SerialportTransport::set_up(int baud) {
  if (sp_set_bits(port_.get(), 8) != SP_OK || sp_set_parity(port_.get(), SP_PARITY_NONE) != SP_OK ||
      sp_set_stopbits(port_.get(), 1) != SP_OK ||
      sp_set_flowcontrol(port_.get(), SP_FLOWCONTROL_NONE) != SP_OK) {
    return port_failure(errno, "set up the port", name_);
  }
  return set_baud(baud);
}

}  // namespace

Result<std::unique_ptr<Transport>> open_serialport_transport(const std::string& path,
                                                             const std::string& device, int baud) {
  sp_port* found = nullptr;
  if (sp_get_port_by_name(device.c_str(), &found) != SP_OK) {
    return fail(ErrorKind::usage, "not a serial port that this system knows", path,
                "serial ports are called /dev/ttyUSB0, /dev/ttyACM0 or the like");
  }
  PortPointer port(found);
  if (sp_open(port.get(), SP_MODE_READ_WRITE) != SP_OK) {
    const int error_number = sp_last_error_code();
    if (error_number == ENOTTY) {
      return fail(ErrorKind::usage, "a terminal without modem control lines, not a serial port",
                  path);
    }
    return open_failure(error_number, path);
  }
  int fd = -1;
  if (sp_get_port_handle(port.get(), &fd) != SP_OK) {
    sp_close(port.get());
    return fail(ErrorKind::io, "the port has no handle", path);
  }
  // A child that inherits the descriptor would hold the lock.
  ::fcntl(fd, F_SETFD, FD_CLOEXEC);
  if (auto locked = lock_port(fd, path); !locked) {
    sp_close(port.get());
    return std::unexpected(locked.error());
  }
  auto transport = std::make_unique<SerialportTransport>(std::move(port), fd, path);
  if (auto ready = transport->set_up(baud); !ready) return std::unexpected(ready.error());
  return transport;
}

}  // namespace assay::firmware
