#include "tui/follower.h"

#include <sys/signalfd.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <utility>

namespace assay::tui {

Signals read_signals(int signal_fd) {
  Signals signals;
  // The descriptor may be a blocking one: one read, of all that poll() said is there.
  signalfd_siginfo infos[8];
  const ssize_t n = read(signal_fd, infos, sizeof infos);
  for (std::size_t i = 0; n > 0 && i < static_cast<std::size_t>(n) / sizeof infos[0]; ++i) {
    switch (infos[i].ssi_signo) {
      case SIGINT:
      case SIGTERM:
      case SIGHUP:
        signals.interrupt = true;
        break;
      case SIGTSTP:
        signals.suspend = true;
        break;
      default:
        break;
    }
  }
  return signals;
}

Result<Follower> Follower::open(const FollowOptions& options) {
  auto reader = reports::JournalReader::open(options.journal);
  if (!reader) return std::unexpected(reader.error());
  return Follower(options, std::move(*reader));
}

Result<bool> Follower::advance() {
  if (writer_done_) return false;
  // Asked before the journal is read: what the writer wrote before it was done is then read.
  const bool done = options_->writer_done ? options_->writer_done() : !reader_.is_being_written();
  const auto lines = reader_.poll(
      [&](const Result<reports::Event>& event, std::uint64_t line) { model_.apply(event, line); });
  if (!lines) return std::unexpected(lines.error());
  writer_done_ = done;
  if (!done) return *lines > 0;
  if (auto finished = model_.finish(reader_.unfinished()); !finished) {
    finished.error().where = options_->journal;
    return std::unexpected(finished.error());
  }
  return true;
}

bool Follower::interrupt() {
  if (std::exchange(interrupted_, true) || !options_->on_interrupt) return true;
  options_->on_interrupt();
  return false;
}

}  // namespace assay::tui
