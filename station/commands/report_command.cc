#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>

#include "reports/journal/journal_reader.h"
#include "reports/json/report.h"
#include "station/commands/commands.h"

namespace assay::station {
namespace {

Result<> print_report(const std::string& journal) {
  const auto reader = reports::JournalReader::open(journal);
  if (!reader) return std::unexpected(reader.error());
  const bool growing = reader->is_being_written();
  const auto run = reports::summarize_journal(journal);
  if (!run) return std::unexpected(run.error());
  const std::string text = reports::report_json(*run, growing);
  if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size() || std::fflush(stdout) != 0) {
    return fail(ErrorKind::io, "cannot write the report", "standard output");
  }
  return {};
}

}  // namespace

void add_report_command(CLI::App& app, Invocation& invocation) {
  auto journal = std::make_shared<std::string>();
  auto format = std::make_shared<std::string>("json");
  CLI::App* command = app.add_subcommand("report", "make the report of a run from its journal");
  command->add_option("journal", *journal, "journal.jsonl of a run")->required();
  command->add_option("--format", *format, "json")
      ->check(CLI::IsMember({"json"}))
      ->capture_default_str();
  command->footer(
      "Example:\n  assay report out/M6-2026-004417-20261201T120000Z/journal.jsonl --format json\n"
      "The same journal gives the same bytes as the run's own report.json.");
  command->callback([journal, format, &invocation] {
    const auto printed = print_report(*journal);
    invocation.exit_code = printed ? 0 : report_error(printed.error());
  });
}

}  // namespace assay::station
