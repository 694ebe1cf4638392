#include "firmware/device/usbip/vhci.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace assay::firmware::device::usbip {
namespace {

// Of no meaning but that it is not 0: bus 1, device 2 on the machine that serves it.
constexpr int device_id = 1 << 16 | 2;
constexpr int full_speed = 2;  // enum usb_device_speed
constexpr int retry_ms = 50;
constexpr int tries = 200;

}  // namespace

int plug_in(const std::string& folder, int port, std::string* error) {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
    *error = std::string("no socket: ") + std::strerror(errno);
    return -1;
  }
  const std::string path = folder + "/attach";
  const std::string line = std::to_string(port) + " " + std::to_string(ends[1]) + " " +
                           std::to_string(device_id) + " " + std::to_string(full_speed);
  int failure = 0;
  for (int i = 0; i < tries; ++i) {
    const int file = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
    failure = file < 0 ? errno : 0;
    if (file >= 0 && ::write(file, line.data(), line.size()) < 0) failure = errno;
    if (file >= 0) ::close(file);
    // A port that was just left is in use until the kernel has taken its device away.
    if (failure != EBUSY && failure != EINVAL) break;
    ::poll(nullptr, 0, retry_ms);
  }
  // The kernel has its own hold on it.
  ::close(ends[1]);
  if (failure == 0) return ends[0];
  ::close(ends[0]);
  *error = path + ": " + std::strerror(failure) + " (is vhci_hcd loaded?)";
  return -1;
}

}  // namespace assay::firmware::device::usbip
