#include "station/run/execute.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <thread>

#include "base/atomic_file.h"
#include "reports/json/report.h"
#include "reports/record/recorder.h"
#include "station/run/runner.h"
#include "tui/follow.h"

namespace assay::station {
namespace {

// Without a front-end: wait for the runner or a signal, whichever comes first.
void wait_quietly(int signal_fd, int done_fd, CancelToken& interrupt) {
  for (;;) {
    pollfd watched[] = {{done_fd, POLLIN, 0}, {signal_fd, POLLIN, 0}};
    if (poll(watched, 2, -1) < 0) continue;
    if (watched[1].revents != 0) interrupt.cancel();
    // A signal that was taken once need not be read off: the run ends by it.
    if (watched[1].revents != 0) signal_fd = -1;
    if (watched[0].revents != 0) return;
  }
}

}  // namespace

Result<Executed> execute(const Session& session, const Plan& plan, const ExecuteOptions& options) {
  Executed done;
  done.journal = options.folder + "/journal.jsonl";
  done.report = options.folder + "/report.json";
  auto recorder = reports::Recorder::create(done.journal);
  if (!recorder) return std::unexpected(recorder.error());
  const UniqueFd done_fd(eventfd(0, EFD_CLOEXEC));
  if (!done_fd) return fail_errno(errno, "cannot make an event descriptor");

  const RunRequest request{plan,
                           session.bench(),
                           options.serial,
                           options.operator_name,
                           options.station_name,
                           options.command_line,
                           session.faults(),
                           session.is_virtual()};
  CancelToken interrupt;
  std::atomic<bool> finished{false};
  Result<> ran;
  std::jthread runner([&] {
    ran = run_plan(request, **recorder, interrupt);
    finished = true;
    // The counter of an eventfd takes 8 bytes at once and never refuses a 1.
    const std::uint64_t one = 1;
    while (write(done_fd.get(), &one, sizeof one) < 0 && errno == EINTR) {
    }
  });

  tui::FollowOptions follow;
  follow.journal = done.journal;
  follow.signal_fd = options.signal_fd;
  follow.on_interrupt = [&] { interrupt.cancel(); };
  follow.writer_done = [&] { return finished.load(); };
  follow.done_fd = done_fd.get();
  follow.stay_at_end = true;
  Result<tui::FollowResult> followed = tui::FollowResult{};
  if (options.front_end == FrontEnd::quiet) {
    wait_quietly(options.signal_fd, done_fd.get(), interrupt);
  } else if (options.front_end == FrontEnd::dashboard) {
    followed = tui::follow_with_dashboard(follow);
  } else {
    followed = tui::follow_with_lines(follow, stdout);
  }
  // A front-end that broke or was left must not leave the run behind.
  if (!followed || followed->interrupted) interrupt.cancel();
  runner.join();
  recorder->reset();
  if (!ran) return std::unexpected(ran.error());

  auto summary = reports::summarize_journal(done.journal);
  if (!summary) return std::unexpected(summary.error());
  done.summary = std::move(*summary);
  auto written = write_file_atomically(done.report, reports::report_json(done.summary));
  if (!written) return std::unexpected(written.error());
  // The run's files are whole; that nobody could see it is still an error.
  if (!followed) return std::unexpected(followed.error());
  return done;
}

}  // namespace assay::station
