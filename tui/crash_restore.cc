#include "tui/crash_restore.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstring>

namespace assay::tui {
namespace {

// Crashes are taken over from whoever handles them (a sanitizer) and handed on. The others are left
// alone when they are handled or ignored already.
constexpr std::array<int, 9> deadly = {SIGSEGV, SIGABRT, SIGBUS, SIGFPE, SIGILL,
                                       SIGINT,  SIGTERM, SIGHUP, SIGQUIT};
constexpr std::size_t crashes = 5;

struct Armed {
  volatile std::sig_atomic_t on = 0;
  int fd = -1;
  termios modes{};
  std::array<char, 256> bytes{};
  std::size_t length = 0;
  std::array<struct sigaction, deadly.size()> before{};
};
Armed armed;  // NOLINT: a signal handler has no other way to reach it

// Only async-signal-safe calls.
void restore_and_die(int signal) {
  if (armed.on != 0) {
    armed.on = 0;
    tcsetattr(armed.fd, TCSANOW, &armed.modes);
    // Nothing can be done about a terminal that takes no more bytes.
    [[maybe_unused]] const ssize_t n = write(armed.fd, armed.bytes.data(), armed.length);
  }
  for (std::size_t i = 0; i < deadly.size(); ++i) {
    if (deadly[i] == signal) sigaction(signal, &armed.before[i], nullptr);
  }
  raise(signal);  // delivered when the handler returns
}

}  // namespace

void arm_crash_restore(int fd, const termios& modes, const std::string& bytes) {
  armed.fd = fd;
  armed.modes = modes;
  armed.length = std::min(bytes.size(), armed.bytes.size());
  std::memcpy(armed.bytes.data(), bytes.data(), armed.length);
  struct sigaction action {};
  action.sa_handler = restore_and_die;
  action.sa_flags = SA_ONSTACK;
  sigfillset(&action.sa_mask);
  for (std::size_t i = 0; i < deadly.size(); ++i) {
    sigaction(deadly[i], nullptr, &armed.before[i]);
    if (i < crashes || armed.before[i].sa_handler == SIG_DFL) {
      sigaction(deadly[i], &action, nullptr);
    }
  }
  armed.on = 1;
}

void disarm_crash_restore() {
  armed.on = 0;
  for (std::size_t i = 0; i < deadly.size(); ++i) {
    struct sigaction now {};
    sigaction(deadly[i], nullptr, &now);
    if (now.sa_handler == restore_and_die) sigaction(deadly[i], &armed.before[i], nullptr);
  }
}

}  // namespace assay::tui
