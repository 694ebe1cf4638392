#include "station/commands/console.h"

#include <fmt/core.h>
#include <poll.h>
#include <termios.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "base/clock.h"

namespace assay::station {
namespace {

constexpr std::int64_t slice_ns = 10 * ns_per_ms;
constexpr std::int64_t silence_ns = 500 * ns_per_ms;
constexpr char leave_key = 0x1D;  // Ctrl-]

// Each key at once and unchanged, Ctrl-C too: it is meant for the board.
class RawTerminal {
 public:
  RawTerminal() : on_(tcgetattr(STDIN_FILENO, &before_) == 0) {
    if (!on_) return;
    termios raw = before_;
    cfmakeraw(&raw);
    // What the port says is shown as it comes, with the line ends that it has.
    tcsetattr(STDIN_FILENO, TCSADRAIN, &raw);
  }
  ~RawTerminal() {
    if (on_) tcsetattr(STDIN_FILENO, TCSADRAIN, &before_);
  }
  RawTerminal(const RawTerminal&) = delete;
  RawTerminal& operator=(const RawTerminal&) = delete;
  bool on() const { return on_; }

 private:
  termios before_{};
  bool on_;
};

bool show(std::span<const std::uint8_t> bytes) {
  return std::fwrite(bytes.data(), 1, bytes.size(), stdout) == bytes.size() &&
         std::fflush(stdout) == 0;
}

class Console {
 public:
  Console(firmware::Transport& transport, bool is_terminal, int signal_fd)
      : transport_(transport), is_terminal_(is_terminal), signal_fd_(signal_fd) {}

  Result<int> run() {
    std::int64_t heard_ns = monotonic_ns();
    for (;;) {
      std::uint8_t buffer[512];
      const auto count = transport_.read(buffer, monotonic_ns() + slice_ns);
      if (count) {
        heard_ns = monotonic_ns();
        if (!show({buffer, *count})) {
          return fail(ErrorKind::io, "cannot write to standard output");
        }
      } else if (count.error().kind != ErrorKind::timeout) {
        return std::unexpected(count.error());
      }
      if (input_open_) {
        if (auto sent = send_input(); !sent) return std::unexpected(sent.error());
        if (!input_open_) heard_ns = monotonic_ns();
      }
      if (left_) return 0;
      pollfd signal{signal_fd_, POLLIN, 0};
      if (poll(&signal, 1, 0) > 0) return 130;
      if (!input_open_ && monotonic_ns() - heard_ns > silence_ns) return 0;
    }
  }

 private:
  // What stands ready, and no more.
  Result<> send_input() {
    pollfd input{STDIN_FILENO, POLLIN, 0};
    if (poll(&input, 1, 0) <= 0 || input.revents == 0) return {};
    char buffer[256];
    const ssize_t count = read(STDIN_FILENO, buffer, sizeof buffer);
    if (count < 0 && (errno == EINTR || errno == EAGAIN)) return {};
    if (count <= 0) {
      input_open_ = false;
      return {};
    }
    auto size = static_cast<std::size_t>(count);
    if (is_terminal_) {
      if (const void* key = std::memchr(buffer, leave_key, size)) {
        left_ = true;
        size = static_cast<std::size_t>(static_cast<const char*>(key) - buffer);
      }
    }
    if (size == 0) return {};
    return transport_.write({reinterpret_cast<const std::uint8_t*>(buffer), size},
                            monotonic_ns() + 10 * ns_per_s);
  }

  firmware::Transport& transport_;
  bool is_terminal_;
  int signal_fd_;
  bool input_open_ = true;
  bool left_ = false;
};

}  // namespace

Result<int> run_console(firmware::Transport& transport, int signal_fd) {
  const RawTerminal terminal;
  if (terminal.on()) {
    fmt::print(stderr, "{}: Ctrl-] leaves\r\n", transport.name());
  }
  return Console(transport, terminal.on(), signal_fd).run();
}

}  // namespace assay::station
