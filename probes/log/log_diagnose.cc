#include "probes/log/log_diagnose.h"

#include <fmt/core.h>
#include <unistd.h>

#include <optional>
#include <utility>

#include "probes/log/line_reader.h"
#include "probes/log/log_diagnosis.h"
#include "probes/thermal/kernel_log.h"

namespace assay::probes {
namespace {

// The pages of the machine that runs this; those of another one only its log can tell.
std::optional<std::uint64_t> own_page_bytes(const Machine& machine) {
  if (!machine.is_real()) return std::nullopt;
  return static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
}

// What a step before this one found leaves its traces in the log: they are told, and make no second
// finding of it. Returns how many findings are the log's own.
std::size_t report_findings(reports::StepRecorder& recorder, LogResult& result) {
  std::size_t reported = 0;
  for (LogFinding& found : result.findings) {
    const auto step = recorder.run().found_by(found.finding.code);
    if (step && *step != recorder.id()) {
      recorder.log(reports::Severity::info, fmt::format("{}: {} (found by {})", found.finding.code,
                                                        found.finding.message, *step));
      continue;
    }
    recorder.finding(std::move(found.finding));
    ++reported;
  }
  return reported;
}

Result<> run_log_diagnose(StepContext& context) {
  const Machine& machine = context.bench.machine;
  LineReader reader;
  LogDiagnosis diagnosis(own_page_bytes(machine));
  const auto add = [&](std::string_view line) { diagnosis.add(line); };
  const auto read = read_kernel_log(machine, [&](std::string_view records) {
    reader.feed(records, add);
    return !context.cancelled();
  });
  if (!read) {
    Error error = read.error();
    error.hint = "run it with sudo, or read a saved log:  dmesg | assay diagnose -";
    return std::unexpected(std::move(error));
  }
  reader.finish(add);
  LogResult result = diagnosis.result();
  const std::size_t all = result.findings.size();
  const std::size_t findings = report_findings(context.recorder, result);
  if (result.events_left_out > 0) {
    context.recorder.log(reports::Severity::warning,
                         fmt::format("{} more messages that tell of something, at other places",
                                     result.events_left_out));
  }
  context.recorder.measure("log_lines", static_cast<std::int64_t>(reader.lines()), "1");
  context.recorder.measure("log_findings", static_cast<std::int64_t>(findings), "1");
  context.recorder.headline(findings > 0
                                ? fmt::format("{} finding{}", findings, findings == 1 ? "" : "s")
                            : all > 0 ? "nothing new"
                                      : "nothing found");
  return {};
}

}  // namespace

Probe log_diagnose_probe() {
  return {.name = "log.diagnose",
          .summary = "find what a kernel log says of faults: sizes, causes, remedies",
          .parameters = {},
          .measurements = {{"log_lines", "1", "lines of the log that were read"},
                           {"log_findings", "1", "different findings among them"}},
          .run = run_log_diagnose,
          .looks_back = true};
}

}  // namespace assay::probes
