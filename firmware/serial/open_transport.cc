#include <sys/stat.h>

#include <cerrno>
#include <cstdlib>
#include <memory>
#include <string_view>

#include "firmware/serial/serialport_transport.h"
#include "firmware/serial/termios_transport.h"
#include "firmware/serial/transport.h"

namespace assay::firmware {
namespace {

struct FreeDeleter {
  void operator()(char* text) const { std::free(text); }
};

}  // namespace

Result<std::unique_ptr<Transport>> open_transport(const std::string& path, int baud) {
  const std::unique_ptr<char, FreeDeleter> resolved(::realpath(path.c_str(), nullptr));
  struct stat status {};
  if (!resolved || ::stat(resolved.get(), &status) != 0) {
    if (errno == ENOENT || errno == ENOTDIR) {
      return fail(ErrorKind::unavailable, "no such port", path, "is the adapter plugged in?");
    }
    return fail_errno(errno, "cannot look at the port", path);
  }
  // Looked at before it is opened: opening some devices does something (a watchdog starts).
  if (!S_ISCHR(status.st_mode)) {
    return fail(ErrorKind::usage,
                S_ISDIR(status.st_mode) ? "a folder, not a serial port" : "not a serial port", path,
                "serial ports are called /dev/ttyUSB0, /dev/ttyACM0 or the like");
  }
  if (std::string_view(resolved.get()).starts_with("/dev/pts/")) {
    return open_termios_transport(path, baud);
  }
  return open_serialport_transport(path, resolved.get(), baud);
}

}  // namespace assay::firmware
