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
  const std::size_t findings = result.findings.size();
  for (LogFinding& found : result.findings) context.recorder.finding(std::move(found.finding));
  if (result.events_left_out > 0) {
    context.recorder.log(reports::Severity::warning,
                         fmt::format("{} more messages that tell of something, at other places",
                                     result.events_left_out));
  }
  context.recorder.measure("log_lines", static_cast<std::int64_t>(reader.lines()), "1");
  context.recorder.measure("log_findings", static_cast<std::int64_t>(findings), "1");
  context.recorder.headline(findings == 0
                                ? "nothing found"
                                : fmt::format("{} finding{}", findings, findings == 1 ? "" : "s"));
  return {};
}

}  // namespace

Probe log_diagnose_probe() {
  return {.name = "log.diagnose",
          .summary = "find what a kernel log says of faults: sizes, causes, remedies",
          .parameters = {},
          .measurements = {{"log_lines", "1", "lines of the log that were read"},
                           {"log_findings", "1", "different findings among them"}},
          .run = run_log_diagnose};
}

}  // namespace assay::probes
