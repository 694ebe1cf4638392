// The two front-ends of a run. Both follow its journal, live or old, in this process or another.
#pragma once

#include <cstdio>
#include <functional>
#include <string>

#include "base/result.h"
#include "reports/summary/run_summary.h"
#include "tui/terminal.h"

namespace assay::tui {

struct FollowOptions {
  std::string journal;
  // A signalfd, or -1. SIGINT, SIGTERM and SIGHUP interrupt, SIGTSTP suspends, SIGWINCH is looked
  // at; others only wake the loop.
  int signal_fd = -1;
  // A person or a signal asks to stop while the run goes on. The loop goes on until the writer is
  // done, so that the journal's end is seen; a second time leaves at once. Empty: leave at once.
  std::function<void()> on_interrupt;
  // Whether the journal is complete. Empty: when no process writes it any more.
  std::function<bool()> writer_done;
  // Readable from when writer_done() is true on, or -1: the end is then seen at once.
  int done_fd = -1;
  // Dashboard: the verdict stays on the screen until q or Enter.
  bool stay_at_end = false;
};

struct FollowResult {
  reports::RunSummary summary;  // of what has been read
  bool interrupted = false;     // someone asked to stop before the writer was done
};

// On stdin and stdout, which must be a terminal. When the terminal goes away the run is interrupted
// and the function returns without waiting for its end.
Result<FollowResult> follow_with_dashboard(const FollowOptions& options);

// Plain lines, no escapes. The verdict is not among them. A write to `out` that fails is an error.
Result<FollowResult> follow_with_lines(const FollowOptions& options, std::FILE* out);

}  // namespace assay::tui
