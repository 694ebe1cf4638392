// Signals as a descriptor to poll, so that a run ends the orderly way and nothing happens inside a
// handler.
#pragma once

#include "base/fd.h"
#include "base/result.h"

namespace assay::station {

enum class SignalsFor {
  lines,      // SIGINT, SIGTERM, SIGHUP
  dashboard,  // those, and SIGTSTP and SIGWINCH, which concern its screen
};

// Blocks the signals for this thread and all that it makes later, and returns the
// signalfd that gives them. Call it before the first thread: one that does not block a signal is
// killed by it. SIGPIPE is ignored: a closed pipe must not cut a run off.
Result<UniqueFd> take_signals(SignalsFor use);

}  // namespace assay::station
