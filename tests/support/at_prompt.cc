#include "tests/support/at_prompt.h"

#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <termios.h>
#include <unistd.h>

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace assay::test {

AtPrompt::AtPrompt(Answer answer)
    : answer_(std::move(answer)),
      master_(::posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC)),
      stop_(::eventfd(0, EFD_CLOEXEC)) {
  char name[64] = "";
  if (!master_ || ::grantpt(master_.get()) != 0 || ::unlockpt(master_.get()) != 0 ||
      ::ptsname_r(master_.get(), name, sizeof name) != 0) {
    throw std::runtime_error("no pseudo-terminal");
  }
  path_ = name;
  slave_ = UniqueFd(::open(name, O_RDWR | O_NOCTTY | O_CLOEXEC));
  termios settings{};
  ::tcgetattr(slave_.get(), &settings);
  ::cfmakeraw(&settings);
  ::tcsetattr(slave_.get(), TCSANOW, &settings);
  thread_ = std::jthread([this] { run(); });
}

AtPrompt::~AtPrompt() {
  ::eventfd_write(stop_.get(), 1);
}

void AtPrompt::say(const std::string& text) {
  // Small enough for the terminal to take at once.
  if (::write(master_.get(), text.data(), text.size()) < 0) unplug();
}

std::string AtPrompt::take(std::size_t bytes) {
  std::string taken;
  while (taken.size() < bytes) {
    pollfd watched[] = {{stop_.get(), POLLIN, 0}, {master_.get(), POLLIN, 0}};
    if (::poll(watched, 2, -1) < 0) continue;
    char buffer[1024];
    const std::size_t left = std::min(bytes - taken.size(), sizeof buffer);
    const ssize_t n = watched[0].revents != 0 ? 0 : ::read(master_.get(), buffer, left);
    if (n <= 0) break;
    taken.append(buffer, static_cast<std::size_t>(n));
  }
  return taken;
}

void AtPrompt::run() {
  std::string line;
  while (master_) {
    const std::string byte = take(1);
    if (byte.empty()) return;
    if (byte[0] != '\r' && byte[0] != '\n') {
      if (byte[0] >= ' ' && byte[0] <= '~') line += byte;
      continue;
    }
    if (line.empty()) continue;
    const std::string said = answer_(*this, std::exchange(line, {}));
    if (master_ && !said.empty()) say(said);
  }
}

}  // namespace assay::test
