#include <poll.h>

#include <cerrno>

#include "base/clock.h"
#include "tui/follow.h"
#include "tui/follower.h"
#include "tui/lines.h"

namespace assay::tui {

Result<FollowResult> follow_with_lines(const FollowOptions& options, std::FILE* out) {
  auto follower = Follower::open(options);
  if (!follower) return std::unexpected(follower.error());
  LinePrinter printer(locale_is_utf8());
  for (;;) {
    if (const auto advanced = follower->advance(); !advanced) {
      return std::unexpected(advanced.error());
    }
    const std::string text = printer.update(follower->model(), wall_ns());
    if (!text.empty() &&
        (std::fwrite(text.data(), 1, text.size(), out) != text.size() || std::fflush(out) != 0)) {
      return fail_errno(errno, "cannot write the run's lines");
    }
    if (follower->writer_done()) return follower->result();

    pollfd waiting[] = {{.fd = options.signal_fd, .events = POLLIN, .revents = 0},
                        {.fd = options.done_fd, .events = POLLIN, .revents = 0}};
    if (::poll(waiting, 2, frame_ms) > 0 && waiting[0].revents != 0 &&
        read_signals(options.signal_fd).interrupt && follower->interrupt()) {
      return follower->result();
    }
  }
}

}  // namespace assay::tui
