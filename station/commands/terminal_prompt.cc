#include "station/commands/terminal_prompt.h"

#include <fmt/core.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>

#include "base/clock.h"

namespace assay::station {
namespace {

constexpr std::size_t longest_line = 4096;

}  // namespace

void TerminalPrompt::show(const std::string& text) {
  fmt::print(stderr, "{}\n", text);
}

Result<std::optional<std::string>> TerminalPrompt::next_line(std::int64_t deadline_ns) {
  for (;;) {
    if (const std::size_t end = typed_.find('\n'); end != typed_.npos) {
      std::string line = typed_.substr(0, end);
      typed_.erase(0, end + 1);
      return line;
    }
    if (typed_.size() > longest_line) {
      return fail(ErrorKind::bad_file, "a line is too long", "standard input");
    }
    if (ended_) {
      if (typed_.empty()) return std::nullopt;
      return std::exchange(typed_, {});
    }
    const std::int64_t left_ms = (deadline_ns - monotonic_ns()) / ns_per_ms;
    pollfd input{STDIN_FILENO, POLLIN, 0};
    const int ready = poll(&input, 1, static_cast<int>(std::clamp<std::int64_t>(left_ms, 0, 1000)));
    if (ready < 0 && errno != EINTR) return fail_errno(errno, "cannot wait", "standard input");
    if (ready <= 0) {
      if (monotonic_ns() >= deadline_ns) return fail(ErrorKind::timeout, "nothing was typed");
      continue;
    }
    char buffer[256];
    const ssize_t count = read(STDIN_FILENO, buffer, sizeof buffer);
    if (count < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (count < 0) return fail_errno(errno, "cannot read", "standard input");
    if (count == 0) ended_ = true;
    typed_.append(buffer, static_cast<std::size_t>(count));
  }
}

}  // namespace assay::station
