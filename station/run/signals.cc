#include "station/run/signals.h"

#include <signal.h>
#include <sys/signalfd.h>

#include <cerrno>

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

}  // namespace assay::station
