#include "station/commands/scan.h"

#include <poll.h>
#include <unistd.h>

#include <cerrno>

namespace assay::station {

Result<std::string> scan_line(int signal_fd) {
  constexpr std::size_t max_bytes = 256;
  std::string line;
  for (;;) {
    pollfd watched[] = {{STDIN_FILENO, POLLIN, 0}, {signal_fd, POLLIN, 0}};
    if (poll(watched, 2, -1) < 0) {
      if (errno == EINTR) continue;
      return fail_errno(errno, "cannot wait for a scan");
    }
    if (watched[1].revents != 0) return fail(ErrorKind::cancelled, "interrupted");
    char c = 0;
    const ssize_t n = ::read(STDIN_FILENO, &c, 1);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return fail(ErrorKind::unavailable, "the input has ended");
    // Scanners end in CR, LF or Tab, as they are set.
    if (c == '\n' || c == '\r' || c == '\t') {
      if (line.empty()) continue;
      return line;
    }
    line += c;
    if (line.size() > max_bytes) return fail(ErrorKind::protocol, "a line of over 256 bytes");
  }
}

}  // namespace assay::station
