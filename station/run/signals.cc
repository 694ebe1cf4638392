#include "station/run/signals.h"

#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>

#include <cerrno>
#include <utility>

namespace assay::station {

Result<UniqueFd> take_signals(SignalsFor use) {
  signal(SIGPIPE, SIG_IGN);
  sigset_t taken;
  sigemptyset(&taken);
  for (const int number : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&taken, number);
  if (use == SignalsFor::dashboard) {
    for (const int number : {SIGTSTP, SIGWINCH}) sigaddset(&taken, number);
  }
  if (const int error = pthread_sigmask(SIG_BLOCK, &taken, nullptr); error != 0) {
    return fail_errno(error, "cannot block signals");
  }
  UniqueFd fd(signalfd(-1, &taken, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!fd) return fail_errno(errno, "cannot take signals");
  return fd;
}

Result<CancelledBySignals> CancelledBySignals::take() {
  auto signals = take_signals(SignalsFor::lines);
  if (!signals) return std::unexpected(signals.error());
  UniqueFd end(eventfd(0, EFD_CLOEXEC));
  if (!end) return fail_errno(errno, "cannot make an event descriptor");
  CancelledBySignals made;
  made.watcher_ = std::jthread([token = made.token_.get(), signals = std::move(*signals),
                                end = std::move(end)](const std::stop_token& stop) {
    // The counter of an eventfd takes 8 bytes at once and never refuses a 1.
    const std::stop_callback wake(stop, [&] { (void)eventfd_write(end.get(), 1); });
    pollfd watched[] = {{end.get(), POLLIN, 0}, {signals.get(), POLLIN, 0}};
    while (poll(watched, 2, -1) < 0) {
    }
    if (watched[1].revents != 0) token->cancel();
  });
  return made;
}

}  // namespace assay::station
