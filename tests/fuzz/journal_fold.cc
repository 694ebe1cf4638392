// reports/summary and reports/json: a whole journal into a verdict and a report.
#include <string>

#include "reports/json/report.h"
#include "reports/summary/run_summary.h"
#include "tests/fuzz/fuzz.h"

using assay::fuzz::require;
using assay::reports::Verdict;

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string_view rest = assay::fuzz::text_of(data, size);
  assay::reports::RunFold fold;
  bool end_seen = false;
  bool all_read = true;
  std::uint64_t number = 0;
  for (std::size_t end = rest.find('\n'); end != rest.npos; end = rest.find('\n')) {
    const auto event = assay::reports::parse_line(rest.substr(0, end));
    fold.apply(event, ++number);
    end_seen =
        end_seen || (event && std::holds_alternative<assay::reports::RunEnd>(event->payload));
    all_read = all_read && event.has_value();
    rest.remove_prefix(end + 1);
  }
  const bool whole = rest.empty();
  const bool is_journal = fold.finish(rest).has_value();
  const auto& run = fold.summary();
  for (const bool growing : {false, true}) {
    const Verdict verdict = assay::reports::verdict_of(run, growing);
    assay::fuzz::reached(std::string(assay::reports::to_word(verdict)));
    if (verdict == Verdict::pass) {
      require(end_seen, "no pass without the run's end");
      require(whole && is_journal, "no pass of what is no whole journal");
      require(all_read, "no pass with a line that cannot be read");
      require(run.started && !run.steps.empty(), "no pass without a start and a step");
    }
    require((assay::reports::exit_code(verdict) == 0) == (verdict == Verdict::pass),
            "only a pass exits with 0");
    (void)assay::reports::verdict_reason(run, growing);
    const std::string report = assay::reports::report_json(run, growing);
    require(nlohmann::json::accept(report), "a report is JSON");
    require(assay::reports::report_json(run, growing) == report, "the same run, the same bytes");
  }
  return 0;
}
