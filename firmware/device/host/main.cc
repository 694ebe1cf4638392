// The reference firmware as a process of its own: killed, it is a board that lost power.
#include <poll.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>

#include "firmware/device/at_server.h"
#include "firmware/device/host/line.h"
#include "firmware/device/host/options.h"

namespace {

using assay::firmware::device::AtServer;
using assay::firmware::device::host::Line;

void send(void* line, const std::uint8_t* bytes, std::size_t size) {
  static_cast<Line*>(line)->send(bytes, size);
}

void serve(AtServer* server, const Line& line) {
  server->boot();
  while (line.alive()) {
    pollfd input{STDIN_FILENO, POLLIN, 0};
    if (::poll(&input, 1, -1) < 0) {
      if (errno == EINTR) continue;
      return;
    }
    std::uint8_t bytes[256];
    const ssize_t count = ::read(STDIN_FILENO, bytes, sizeof bytes);
    if (count < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    // End of file for a pipe; EIO when the other side of a pseudo-terminal is closed.
    if (count <= 0) return;
    for (ssize_t i = 0; i < count; ++i) server->receive(bytes[i]);
  }
}

}  // namespace

int main(int argc, char** argv) {
  namespace host = assay::firmware::device::host;
  host::Options options;
  std::string error;
  if (!host::parse_options(argc, argv, &options, &error)) {
    std::fprintf(stderr, "assay-npu-firmware: %s; see --help\n", error.c_str());
    return 2;
  }
  if (options.help) {
    std::fputs(host::usage_text, stdout);
    return 0;
  }
  // A virtual board that crashes must not leave its firmware behind.
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  std::signal(SIGPIPE, SIG_IGN);

  Line line(STDOUT_FILENO, options.line_fault);
  AtServer server({options.version.c_str(), options.serial.c_str()}, {&send, &line});
  serve(&server, line);
  return 0;
}
