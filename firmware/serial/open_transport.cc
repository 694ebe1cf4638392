#include <sys/stat.h>

#include <cerrno>
#include <filesystem>
#include <system_error>

#include "firmware/serial/serialport_transport.h"
#include "firmware/serial/termios_transport.h"
#include "firmware/serial/transport.h"

namespace assay::firmware {

Result<std::unique_ptr<Transport>> open_transport(const std::string& path, int baud) {
  std::error_code error;
  const std::string device = std::filesystem::canonical(path, error);
  struct stat status {};
  if (!error && ::stat(device.c_str(), &status) != 0) error = {errno, std::generic_category()};
  if (path.empty() || error.value() == ENOENT || error.value() == ENOTDIR) {
    return fail(ErrorKind::unavailable, "no such port", path, "is the adapter plugged in?");
  }
  if (error) return fail_errno(error.value(), "cannot look at the port", path);
  // Looked at before it is opened: opening some devices does something (a watchdog starts).
  if (!S_ISCHR(status.st_mode)) {
    return fail(ErrorKind::usage,
                S_ISDIR(status.st_mode) ? "a folder, not a serial port" : "not a serial port", path,
                "serial ports are called /dev/ttyUSB0, /dev/ttyACM0 or the like");
  }
  if (device.starts_with("/dev/pts/")) {
    return open_termios_transport(path, baud);
  }
  return open_serialport_transport(path, device, baud);
}

}  // namespace assay::firmware
