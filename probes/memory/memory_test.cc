#include "probes/memory/memory_test.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/units.h"
#include "probes/memory/frame_coverage.h"
#include "probes/memory/memory_findings.h"
#include "probes/memory/memory_options.h"
#include "probes/memory/memory_session.h"

namespace assay::probes {
namespace {

Result<> check(const Parameters& parameters) {
  if (auto options = read_memory_options(parameters); !options) {
    return std::unexpected(options.error());
  }
  return {};
}

Result<> preflight(const Bench& bench, const Parameters& parameters) {
  // A plan's minimum is judged in the run.
  if (parameters.is_available_size("size") || parameters.has("minimum")) return {};
  // So is a board that has lost half of its memory: it was not asked for wrongly.
  if (memory_is_short(bench.machine, bench.board)) return {};
  if (auto size = memory_size(parameters, bench.ram); !size) return std::unexpected(size.error());
  return {};
}

Result<> run_memory_test(StepContext& context) {
  auto options = read_memory_options(context.parameters);
  if (!options) return std::unexpected(options.error());
  const auto sized = report_size(context.recorder, context.bench.machine, context.bench.board);
  if (!sized) return sized;
  const auto size = memory_size(context.parameters, context.bench.ram);
  if (!size && memory_is_short(context.bench.machine, context.bench.board)) {
    context.recorder.log(reports::Severity::warning, "nothing was tested: " + size.error().text());
    return {};
  }
  if (!size) return std::unexpected(size.error());
  if (size->bytes < std::max<std::uint64_t>(options->minimum_bytes, 1)) {
    const std::string spare = fmt::format("this machine can spare {} now", format_gib(size->bytes));
    return fail(ErrorKind::unavailable, context.parameters.has("minimum")
                                            ? fmt::format("at least {} must be tested; {}",
                                                          format_gib(options->minimum_bytes), spare)
                                            : spare);
  }
  if (size->asked >= size->bytes + PageMap::page_bytes()) {
    context.recorder.log(reports::Severity::warning,
                         fmt::format("{} asked for; this machine can spare {} now: that is tested",
                                     format_gib(size->asked), format_gib(size->bytes)));
  } else if (size->asked != size->bytes) {
    context.recorder.log(
        reports::Severity::info,
        fmt::format("{} bytes asked for, {} tested: whole pages", size->asked, size->bytes));
  }
  return run_memory_session(context, std::move(*options), size->bytes);
}

}  // namespace

Probe memory_test_probe() {
  return {
      .name = "memory.test",
      .summary = "test RAM by all cores: patterns, March tests, moving data, bit fade",
      .parameters = memory_parameters(),
      .measurements = {{"errors", "1", "words that read back wrong", true},
                       {"size", "By", "bytes tested"},
                       {"coverage", "1", "bytes tested of all that the kernel has"},
                       {"physical_coverage", "1", "page frames tested of all that there are"},
                       {"physical_run", "By", "bytes that follow each other in physical memory"},
                       {"memory_seen", "By", "memory that the kernel sees"},
                       {"iterations", "1", "times that all tests ran"},
                       {"ecc_corrected", "1", "errors that ECC corrected meanwhile"},
                       {"ecc_uncorrected", "1", "errors that ECC could not correct"},
                       {"bandwidth", "GBy/s", "bytes read and written a second"}},
      .check = check,
      .preflight = preflight,
      .run = run_memory_test,
      .monitor = nullptr,
  };
}

}  // namespace assay::probes
