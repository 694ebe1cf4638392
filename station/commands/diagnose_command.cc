#include "station/commands/diagnose_command.h"

#include <fmt/core.h>

#include <bit>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "base/units.h"
#include "probes/log/line_reader.h"
#include "probes/log/log_diagnosis.h"
#include "station/commands/byte_progress.h"
#include "station/commands/log_file.h"
#include "station/run/signals.h"
#include "tui/text.h"

namespace assay::station {
namespace {

using Json = nlohmann::ordered_json;
using probes::LineReader;
using probes::LogFinding;
using probes::LogResult;

// What was read, however far it came.
struct LogRead {
  std::string file;
  std::uint64_t bytes = 0;
  std::uint64_t lines = 0;
  std::uint64_t cut_lines = 0;
  bool whole = false;
  LogResult result;
};

Result<LogRead> read_log_file(const std::string& path, std::optional<std::uint64_t> page_bytes) {
  const auto signals = CancelledBySignals::take();
  if (!signals) return std::unexpected(signals.error());
  auto file = LogFile::open(path);
  if (!file) return std::unexpected(file.error());
  LineReader reader;
  probes::LogDiagnosis diagnosis(page_bytes);
  const auto add = [&](std::string_view line) { diagnosis.add(line); };
  ByteProgress progress(file->size());
  const auto whole = file->read(signals->token(), [&](std::string_view block) {
    reader.feed(block, add);
    progress.show(reader.bytes());
  });
  if (!whole) return std::unexpected(whole.error());
  if (*whole) reader.finish(add);
  return LogRead{file->name(),       reader.bytes(), reader.lines(),
                 reader.cut_lines(), *whole,         diagnosis.result()};
}

Json to_json(const LogRead& log) {
  Json findings = Json::array();
  for (const LogFinding& found : log.result.findings) {
    const reports::Finding& f = found.finding;
    findings.push_back(
        Json{{"code", f.code},
             {"kind", f.kind == reports::FindingKind::fault ? "fault" : "observation"},
             {"message", f.message},
             {"where", f.where},
             {"count", found.count},
             {"first", found.first},
             {"last", found.last},
             {"line", found.line},
             {"evidence", f.evidence},
             {"likely", f.likely},
             {"remedy", f.remedy}});
  }
  return Json{{"schema", "assay/diagnosis/1"},
              {"file", log.file},
              {"whole", log.whole},
              {"bytes", log.bytes},
              {"lines", log.lines},
              {"cut_lines", log.cut_lines},
              {"kernel", log.result.kernel},
              {"page_bytes", log.result.page_bytes},
              {"page_bytes_from", to_text(log.result.page_size_from)},
              {"findings", std::move(findings)},
              {"events_left_out", log.result.events_left_out},
              {"messages_suppressed", log.result.messages_suppressed}};
}

void print_text(const LogRead& log) {
  const LogResult& result = log.result;
  reports::StepRecord step;
  step.id = "diagnose";
  for (const LogFinding& found : result.findings) {
    for (const std::string& line : tui::finding_text(step, found.finding)) {
      fmt::print("{}\n", line);
    }
    fmt::print("\n");
  }
  const std::size_t count = result.findings.size();
  fmt::print("{} in {} lines of {} ({}){}{}\n",
             count == 0   ? "nothing found"
             : count == 1 ? "1 finding"
                          : fmt::format("{} findings", count),
             log.lines, log.file, format_gb(log.bytes),
             result.kernel.empty() ? "" : ", kernel " + result.kernel,
             log.whole ? "" : ", and then it was stopped");
  if (log.cut_lines > 0) {
    fmt::print("{} longer than {} bytes: read up to there\n",
               log.cut_lines == 1 ? "1 line was" : fmt::format("{} lines were", log.cut_lines),
               LineReader::most_line_bytes);
  }
  if (result.messages_suppressed > 0) {
    fmt::print("the kernel itself left out {} messages (rate limits): counts are at least those\n",
               result.messages_suppressed);
  }
  if (result.events_left_out > 0) {
    fmt::print("{} more messages that tell of something, at places beyond the first {}\n",
               result.events_left_out, probes::LogDiagnosis::most_findings);
  }
}

Result<std::optional<std::uint64_t>> page_bytes_of(const std::string& text) {
  if (text.empty()) return std::nullopt;
  auto size = parse_size(text);
  if (!size) {
    size.error().where = "--page-size";
    return std::unexpected(size.error());
  }
  if (!std::has_single_bit(*size) || *size < 4096 || *size > 65536) {
    return fail(ErrorKind::usage, "a page has 4, 8, 16, 32 or 64 KiB", "--page-size");
  }
  return *size;
}

Result<int> diagnose(const std::string& path, const std::string& page_size, bool json) {
  const auto page_bytes = page_bytes_of(page_size);
  if (!page_bytes) return std::unexpected(page_bytes.error());
  const auto log = read_log_file(path, *page_bytes);
  if (!log) return std::unexpected(log.error());
  if (json) {
    fmt::print("{}\n", to_json(*log).dump(2, ' ', false, Json::error_handler_t::replace));
  } else {
    print_text(*log);
  }
  if (!log->whole) return 130;
  return log->result.findings.empty() ? 0 : 1;
}

}  // namespace

Instead add_diagnose_options(CLI::App& command) {
  struct Options {
    std::string file;
    std::string page_size;
  };
  auto options = std::make_shared<Options>();
  CLI::Option* const file = command.add_option(
      "file", options->file,
      "a saved log (dmesg, journalctl, syslog, logcat), or - for standard input; without it the "
      "board's own log is read, as a step");
  command
      .add_option("--page-size", options->page_size,
                  "where the log does not say it: 4K, 16K or 64K [4K]")
      ->needs(file);
  // These are of the step.
  for (const char* name : {"--board", "--virtual", "--fault", "--port", "--out"}) {
    file->excludes(command.get_option(name));
  }
  return [options, file](bool json) -> std::optional<Result<int>> {
    if (file->count() == 0) return std::nullopt;
    return diagnose(options->file, options->page_size, json);
  };
}

}  // namespace assay::station
