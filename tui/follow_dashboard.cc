#include <poll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <array>
#include <string_view>

#include "base/clock.h"
#include "tui/follow.h"
#include "tui/follower.h"
#include "tui/terminal.h"
#include "tui/view.h"

namespace assay::tui {
namespace {

// A terminal that is gone stays readable without having anything to read.
bool hung_up(const pollfd& input) {
  if ((input.revents & (POLLHUP | POLLERR | POLLNVAL)) != 0) return true;
  int waiting = 0;
  return (input.revents & POLLIN) != 0 && ioctl(input.fd, FIONREAD, &waiting) == 0 && waiting == 0;
}

constexpr int burst_ms = 30;
constexpr int most_keys = 256;  // then the screen gets its turn

class Dashboard {
 public:
  Dashboard(const FollowOptions& options, Follower& follower, Terminal& terminal)
      : options_(options), follower_(follower), terminal_(terminal) {}

  Result<> run() {
    while (!leave_) {
      const auto advanced = follower_.advance();
      if (!advanced) return std::unexpected(advanced.error());
      draw_when_due(*advanced);
      if (follower_.writer_done() && !options_.stay_at_end) break;
      wait();
    }
    return {};
  }

 private:
  void draw_when_due(bool changed) {
    const std::int64_t now = wall_ns();
    // The clock in the header moves once a second, as long as it moves.
    const std::int64_t second = follower_.model().elapsed_ns(now) / ns_per_s;
    changed_ = changed_ || changed || second != shown_second_;
    // A new size and what a person asked for are answered at once, the rest at the pace of frames.
    if (terminal_.adjust_size()) stale_ = true;
    const std::int64_t now_monotonic = monotonic_ns();
    const bool due = now_monotonic - last_frame_ns_ >= frame_ms * ns_per_ms;
    if (!stale_ && !(changed_ && due)) return;
    stale_ = false;
    changed_ = false;
    shown_second_ = second;
    last_frame_ns_ = now_monotonic;
    terminal_.clear();
    draw(terminal_, follower_.model(), now, keys());
    terminal_.show();
  }

  std::string_view keys() const {
    if (follower_.writer_done()) return "Enter, q  leave";
    if (!options_.on_interrupt) return "q  leave";
    if (follower_.interrupted()) return "stopping the run; q again leaves at once";
    return "a, q  abort";
  }

  void wait() {
    // The end is news once.
    const int done_fd = follower_.writer_done() ? -1 : options_.done_fd;
    std::array<pollfd, 3> waiting = {{{.fd = STDIN_FILENO, .events = POLLIN, .revents = 0},
                                      {.fd = options_.signal_fd, .events = POLLIN, .revents = 0},
                                      {.fd = done_fd, .events = POLLIN, .revents = 0}}};
    if (::poll(waiting.data(), waiting.size(), frame_ms) <= 0) return;
    if (hung_up(waiting[0])) {
      if (!follower_.writer_done()) follower_.interrupt();
      leave_ = true;
      return;
    }
    if ((waiting[1].revents & POLLIN) != 0) {
      const Signals signals = read_signals(options_.signal_fd);
      if (signals.interrupt) stop();
      if (signals.suspend) suspend();
    }
    if (waiting[0].revents != 0) take_keys();
  }

  // Keys that follow each other faster than a person types are a barcode scanner's or were pasted:
  // the letters of a serial number must not stop a run. Ctrl-C is in no barcode.
  void take_keys() {
    int keys = 0;
    Key last = Key::other;
    const auto more_comes = [] {
      pollfd more{.fd = STDIN_FILENO, .events = POLLIN, .revents = 0};
      return ::poll(&more, 1, burst_ms) > 0 && !hung_up(more);
    };
    do {
      while (const auto key = terminal_.read_key()) {
        ++keys;
        last = *key;
        if (last == Key::stop) stop();
      }
    } while (keys < most_keys && more_comes());
    if (keys == 1 && last != Key::stop) handle(last);
  }

  void handle(Key key) {
    switch (key) {
      case Key::quit:
        stop();
        break;
      case Key::enter:
        if (follower_.writer_done()) leave_ = true;
        break;
      case Key::suspend:
        suspend();
        break;
      case Key::redraw:
        terminal_.repaint();
        break;
      case Key::stop:
      case Key::other:
        break;
    }
  }

  void stop() {
    leave_ = leave_ || follower_.writer_done() || follower_.interrupt();
    stale_ = true;
  }

  void suspend() {
    terminal_.suspend();
    stale_ = true;
  }

  const FollowOptions& options_;
  Follower& follower_;
  Terminal& terminal_;
  bool leave_ = false;
  bool stale_ = true;     // the screen must be drawn now
  bool changed_ = false;  // and this is worth a frame when one is due
  std::int64_t last_frame_ns_ = 0;
  std::int64_t shown_second_ = -1;
};

}  // namespace

Result<FollowResult> follow_with_dashboard(const FollowOptions& options) {
  auto follower = Follower::open(options);
  if (!follower) return std::unexpected(follower.error());
  auto terminal = Terminal::open(stdin, stdout);
  if (!terminal) return std::unexpected(terminal.error());
  if (auto run = Dashboard(options, *follower, **terminal).run(); !run) {
    return std::unexpected(run.error());
  }
  return follower->result();
}

}  // namespace assay::tui
