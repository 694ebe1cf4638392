#include <fmt/core.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>

#include "base/clock.h"
#include "base/units.h"
#include "station/commands/commands.h"
#include "station/commands/scan.h"
#include "station/run/execute.h"
#include "station/run/run_folder.h"
#include "station/run/runner.h"
#include "station/run/signals.h"
#include "tui/terminal.h"

namespace assay::station {
namespace {

struct RunOptions {
  SessionOptions session;
  std::string plan = "quick";
  std::string serial;
  std::string operator_name;
  std::string station_name;
  std::string out = "out";
  bool headless = false;
};

std::string host_name() {
  char name[256] = "";
  if (gethostname(name, sizeof name - 1) != 0) return {};
  return name;
}

// Asks until the serial is one of this board's.
Result<std::string> scan_serial(const Session& session, int signal_fd) {
  for (;;) {
    fmt::print("Scan the serial number of the {}: ", session.board().name);
    std::fflush(stdout);
    auto serial = scan_line(signal_fd);
    if (!serial) return serial;
    const auto checked = session.check_serial(*serial);
    if (checked) return serial;
    fmt::print("{}\n", checked.error().text());
  }
}

// Given, known to the board, or scanned.
Result<std::string> choose_serial(const Session& session, const RunOptions& options,
                                  int signal_fd) {
  std::string serial = options.serial.empty() ? session.own_serial() : options.serial;
  if (serial.empty() && isatty(STDIN_FILENO) != 0 && isatty(STDOUT_FILENO) != 0) {
    return scan_serial(session, signal_fd);
  }
  if (serial.empty()) {
    return fail(ErrorKind::usage, "the board does not know its serial number", "--serial",
                "give it: --serial SN, expected " + session.board().serial_pattern);
  }
  if (auto checked = session.check_serial(serial); !checked) {
    return std::unexpected(checked.error());
  }
  return serial;
}

Result<int> run(const RunOptions& options, const std::string& command_line) {
  const auto library = Library::open();
  if (!library) return std::unexpected(library.error());
  const auto plan = library->plan(options.plan);
  if (!plan) return std::unexpected(plan.error());
  const bool dashboard = !options.headless && tui::can_show_dashboard();
  const auto signals = take_signals(dashboard ? SignalsFor::dashboard : SignalsFor::lines);
  if (!signals) return std::unexpected(signals.error());
  SessionOptions session_options = options.session;
  session_options.serial = options.serial;
  const auto session = Session::open(*library, session_options);
  if (!session) return std::unexpected(session.error());
  const auto serial = choose_serial(**session, options, signals->get());
  if (!serial) return std::unexpected(serial.error());
  if (auto ready = preflight(*plan, (*session)->bench()); !ready) {
    return std::unexpected(ready.error());
  }
  const auto folder = make_run_folder(options.out, *serial, wall_ns());
  if (!folder) return std::unexpected(folder.error());

  const auto done =
      execute(**session, *plan,
              {.serial = *serial,
               .operator_name = options.operator_name,
               .station_name = options.station_name.empty() ? host_name() : options.station_name,
               .command_line = command_line,
               .folder = *folder,
               .front_end = dashboard ? FrontEnd::dashboard : FrontEnd::lines,
               .signal_fd = signals->get()});
  if (!done) return std::unexpected(done.error());
  const reports::Verdict verdict = verdict_of(done->summary, false);
  fmt::print("\n{}  {} on {}  {}\njournal  {}\nreport   {}\n{}  {}\n", *serial, plan->id,
             (*session)->board().name, format_hms(done->summary.last_ns - done->summary.start_ns),
             done->journal, done->report, to_word(verdict), verdict_reason(done->summary, false));
  return exit_code(verdict);
}

}  // namespace

void add_run_command(CLI::App& app, Invocation& invocation) {
  auto options = std::make_shared<RunOptions>();
  CLI::App* command = app.add_subcommand("run", "run a test plan on a board");
  command->add_option("--board", options->session.board, "board profile, by id or file");
  command->add_option("--plan", options->plan, "test plan, by id or file")->capture_default_str();
  command->add_option("--serial", options->serial, "serial number of the board");
  command->add_option("--operator", options->operator_name, "who tests");
  command->add_option("--station", options->station_name, "where; the host's name by default");
  command->add_flag("--virtual", options->session.is_virtual, "test a virtual board");
  command->add_option("--fault", options->session.faults, "break the virtual board (repeatable)")
      ->expected(1)
      ->allow_extra_args(false)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  command->add_option("--port", options->session.port, "serial port of the board");
  command->add_option("--out", options->out, "folder for journal and report")
      ->capture_default_str();
  command->add_flag("--headless", options->headless, "plain lines, no dashboard");
  std::string faults;
  for (const FaultInfo& f : fault_catalog()) faults += fmt::format("  {:<12} {}\n", f.name, f.help);
  command->footer(
      "Examples:\n"
      "  assay run --virtual                              the virtual board, plan quick\n"
      "  assay run --virtual --fault pcie-x1              a board that must fail\n"
      "  sudo assay run --board m6-mini --plan fat --serial M6-2026-004417\n"
      "  assay run --board generic-linux --plan quick     this machine\n"
      "On a terminal the dashboard keeps the verdict until Enter or q; with --headless nothing "
      "waits.\n"
      "Faults:\n" +
      faults +
      "Exit code: 0 pass, 1 the board failed, 2 wrong use, 3 could not test, 130 interrupted.");
  command->callback([options, &invocation] {
    const auto code = run(*options, invocation.command_line);
    invocation.exit_code = code ? *code : report_error(code.error());
  });
}

}  // namespace assay::station
