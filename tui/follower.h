// What both front-ends share: reading on in the journal, and being asked to stop.
#pragma once

#include <utility>

#include "reports/journal/journal_reader.h"
#include "tui/follow.h"
#include "tui/model.h"

namespace assay::tui {

// No more than four frames, or looks at the journal, a second.
inline constexpr int frame_ms = 250;

struct Signals {
  bool interrupt = false;
  bool suspend = false;
};
// Takes every signal that waits in a signalfd.
Signals read_signals(int signal_fd);

class Follower {
 public:
  // The options must outlive it.
  static Result<Follower> open(const FollowOptions& options);

  // Reads what came. True when there was something, or when it turned out to be the end.
  Result<bool> advance();
  bool writer_done() const { return writer_done_; }

  // Someone asks to stop. True: leave now.
  bool interrupt();
  bool interrupted() const { return interrupted_; }

  const DashboardModel& model() const { return model_; }
  FollowResult result() const { return {model_.run(), interrupted_}; }

 private:
  Follower(const FollowOptions& options, reports::JournalReader reader)
      : options_(&options), reader_(std::move(reader)) {}

  const FollowOptions* options_;
  reports::JournalReader reader_;
  DashboardModel model_;
  bool writer_done_ = false;
  bool interrupted_ = false;
};

}  // namespace assay::tui
