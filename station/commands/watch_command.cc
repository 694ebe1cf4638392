#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>

#include "reports/summary/run_summary.h"
#include "station/commands/commands.h"
#include "station/run/signals.h"
#include "tui/follow.h"
#include "tui/terminal.h"

namespace assay::station {
namespace {

struct WatchOptions {
  std::string journal;
  bool headless = false;
};

Result<int> watch(const WatchOptions& options) {
  const bool dashboard = !options.headless && tui::can_show_dashboard();
  const auto signals = take_signals(dashboard ? SignalsFor::dashboard : SignalsFor::lines);
  if (!signals) return std::unexpected(signals.error());
  tui::FollowOptions follow;
  follow.journal = options.journal;
  follow.signal_fd = signals->get();
  follow.stay_at_end = true;
  const auto followed =
      dashboard ? tui::follow_with_dashboard(follow) : tui::follow_with_lines(follow, stdout);
  if (!followed) return std::unexpected(followed.error());
  const auto verdict = verdict_of(followed->summary, followed->interrupted);
  fmt::print("{}  {}\n", to_word(verdict),
             verdict_reason(followed->summary, followed->interrupted));
  // Leaving a run that goes on says nothing of the board.
  return verdict == reports::Verdict::running ? 0 : exit_code(verdict);
}

}  // namespace

void add_watch_command(CLI::App& app, Invocation& invocation) {
  auto options = std::make_shared<WatchOptions>();
  CLI::App* command = app.add_subcommand("watch", "the dashboard on any journal, live or old");
  command->add_option("journal", options->journal, "journal.jsonl of a run")->required();
  command->add_flag("--headless", options->headless, "plain lines, no dashboard");
  command->footer(
      "Example:\n  assay watch out/M6-2026-004417-20261201T120000Z/journal.jsonl\n"
      "Exit code: that of the run; 0 when left while it goes on.");
  command->callback([options, &invocation] {
    const auto code = watch(*options);
    invocation.exit_code = code ? *code : report_error(code.error());
  });
}

}  // namespace assay::station
