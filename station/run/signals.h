// Signals as a descriptor to poll, so that a run ends the orderly way and nothing happens inside a
// handler.
#pragma once

#include <memory>
#include <thread>

#include "base/cancel.h"
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

// take_signals() for as long as it lives, for work that looks at a token and not at a descriptor:
// the first signal cancels it.
class CancelledBySignals {
 public:
  // Like take_signals(), before the first thread.
  static Result<CancelledBySignals> take();
  // Of the same address while the object is moved.
  const CancelToken& token() const { return *token_; }

 private:
  CancelledBySignals() = default;

  std::unique_ptr<CancelToken> token_ = std::make_unique<CancelToken>();
  std::jthread watcher_;  // ends before the token does
};

}  // namespace assay::station
