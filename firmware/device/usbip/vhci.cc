#include "firmware/device/usbip/vhci.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <sstream>

namespace assay::firmware::device::usbip {
namespace {

// Of no meaning but that it is not 0: bus 1, device 2 on the machine that serves it.
constexpr int device_id = 1 << 16 | 2;
constexpr int high_speed = 3;  // enum usb_device_speed; vhci_hcd complains of full speed
constexpr int free_state = 4;  // VDEV_ST_NULL
constexpr int retry_ms = 50;
constexpr int tries = 200;

// A port that was just left is in use until the kernel has taken its device away. Lines of the
// file: hub, port, state, and more.
bool is_free(const std::string& folder, int port) {
  std::ifstream status(folder + "/status");
  for (std::string line; std::getline(status, line);) {
    std::istringstream words(line);
    std::string hub;
    int number = 0;
    int state = 0;
    if (words >> hub >> number >> state && number == port) return state == free_state;
  }
  return false;
}

}  // namespace

int plug_in(const std::string& folder, int port, std::string* error) {
  const std::string path = folder + "/attach";
  if (::access(path.c_str(), W_OK) != 0) {
    *error = path + ": " + std::strerror(errno) + " (is vhci_hcd loaded?)";
    return -1;
  }
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
    *error = std::string("no socket: ") + std::strerror(errno);
    return -1;
  }
  const std::string line = std::to_string(port) + " " + std::to_string(ends[1]) + " " +
                           std::to_string(device_id) + " " + std::to_string(high_speed);
  for (int i = 0; i < tries && !is_free(folder, port); ++i) ::poll(nullptr, 0, retry_ms);
  const int file = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
  const bool attached =
      file >= 0 && ::write(file, line.data(), line.size()) == static_cast<ssize_t>(line.size());
  const int failure = errno;
  if (file >= 0) ::close(file);
  // The kernel has its own hold on it.
  ::close(ends[1]);
  if (attached) return ends[0];
  ::close(ends[0]);
  *error = path + ": " + std::strerror(failure);
  return -1;
}

}  // namespace assay::firmware::device::usbip
