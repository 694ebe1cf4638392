#include "tests/tui/pty_run.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <pty.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include <utmp.h>

#include <csignal>
#include <cstring>

#include "base/clock.h"

namespace assay::tui {
namespace {
constexpr std::int64_t patience_ns = 20 * ns_per_s;
}

PtyRun::PtyRun(int rows, int cols, const std::function<int()>& child) {
  winsize size{};
  size.ws_row = static_cast<unsigned short>(rows);
  size.ws_col = static_cast<unsigned short>(cols);
  int master = -1;
  int slave = -1;
  EXPECT_EQ(openpty(&master, &slave, nullptr, nullptr, &size), 0);
  master_ = UniqueFd(master);
  slave_ = UniqueFd(slave);
  EXPECT_EQ(tcgetattr(slave, &before_), 0);
  child_ = fork();
  if (child_ == 0) {
    const int terminal = dup(slave);
    master_.reset();
    slave_.reset();
    login_tty(terminal);
    _exit(child());
  }
}

PtyRun::~PtyRun() {
  if (child_ > 0) {
    kill(child_, SIGKILL);
    waitpid(child_, nullptr, 0);
  }
}

bool PtyRun::read_some() {
  pollfd waiting{.fd = master_.get(), .events = POLLIN, .revents = 0};
  if (poll(&waiting, 1, 20) <= 0) return false;
  char buffer[4096];
  const ssize_t n = read(master_.get(), buffer, sizeof buffer);
  if (n <= 0) return false;
  output_.append(buffer, static_cast<std::size_t>(n));
  return true;
}

bool PtyRun::wait_for(const std::string& text) {
  const std::int64_t deadline = monotonic_ns() + patience_ns;
  while (output_.find(text) == output_.npos) {
    if (monotonic_ns() > deadline) return false;
    read_some();
  }
  return true;
}

void PtyRun::type(const std::string& keys) {
  EXPECT_EQ(write(master_.get(), keys.data(), keys.size()), static_cast<ssize_t>(keys.size()));
}

void PtyRun::resize(int rows, int cols) {
  winsize size{};
  size.ws_row = static_cast<unsigned short>(rows);
  size.ws_col = static_cast<unsigned short>(cols);
  EXPECT_EQ(ioctl(master_.get(), TIOCSWINSZ, &size), 0);
}

void PtyRun::send(int signal) {
  EXPECT_EQ(kill(child_, signal), 0);
}

void PtyRun::hang_up() {
  slave_.reset();
  master_.reset();
}

int PtyRun::wait_for_end() {
  const std::int64_t deadline = monotonic_ns() + patience_ns;
  int status = 0;
  // The child may be waiting for someone to read what it wrote.
  while (waitpid(child_, &status, WNOHANG) == 0) {
    if (monotonic_ns() > deadline) return -1;
    if (master_) {
      read_some();
    } else {
      poll(nullptr, 0, 5);
    }
  }
  child_ = -1;
  while (master_ && read_some()) {
  }
  return status;
}

bool PtyRun::modes_as_before() const {
  termios now{};
  return tcgetattr(slave_.get(), &now) == 0 && now.c_iflag == before_.c_iflag &&
         now.c_oflag == before_.c_oflag && now.c_cflag == before_.c_cflag &&
         now.c_lflag == before_.c_lflag && std::memcmp(now.c_cc, before_.c_cc, NCCS) == 0;
}

}  // namespace assay::tui
