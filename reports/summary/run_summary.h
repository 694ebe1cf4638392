// A run as a person sees it: the fold of its journal's events. The dashboard, the reports and the
// exit code are made from this and from nothing else.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "reports/findings/finding.h"
#include "reports/record/event.h"

namespace assay::reports {

enum class StepState { pending, running, pass, fail, error, skip };
enum class Verdict {
  running,     // no end yet, and the writer may be alive
  pass,        // every required step was done and is within its limits
  fail,        // the board is outside a limit or has a fault
  incomplete,  // something could not be tested, or the journal is damaged
  aborted,     // interrupted, or cut off in the middle
};

const char* to_word(StepState state);  // "PASS"
const char* to_word(Verdict verdict);

struct MeasurementRecord {
  Measurement measurement;
  bool within = true;
};

struct SeriesRecord {
  SeriesStart start;
  std::uint64_t count = 0;
  std::uint64_t outside = 0;  // samples beyond a limit
  double min = 0;
  double max = 0;
  double sum = 0;
  Value last;
  std::deque<double> recent;  // the last recent_samples, for drawing
  bool within() const { return outside == 0; }
};
inline constexpr std::size_t recent_samples = 240;

struct FindingRecord {
  Finding finding;
  std::int64_t wall_ns = 0;
};

struct Progress {
  std::uint64_t done = 0;
  std::uint64_t total = 0;
  std::string text;
};

struct StepRecord {
  std::string id;
  std::string use;
  bool required = true;
  // Done only when the step `repairs` had the fault `repairs_fault`; else empty.
  std::string repairs;
  std::string repairs_fault;
  StepState state = StepState::pending;
  std::int64_t start_ns = 0;  // wall clock; 0 when it has not begun
  std::int64_t end_ns = 0;
  std::string headline;
  std::string skip_reason;
  Progress progress;
  std::vector<MeasurementRecord> measurements;
  std::vector<SeriesRecord> series;
  std::vector<FindingRecord> findings;
  std::vector<TestError> errors;
  std::vector<std::string> warnings;              // the first kept_warnings
  std::map<std::string, nlohmann::json> details;  // at most kept_details
};
inline constexpr std::size_t kept_warnings = 100;
inline constexpr std::size_t kept_details = 32;

struct LogRecord {
  std::int64_t wall_ns = 0;
  std::string step_id;
  Severity severity = Severity::info;
  std::string message;
};
inline constexpr std::size_t kept_logs = 2000;

struct RunSummary {
  RunStart start;
  std::vector<StepRecord> steps;  // in the plan's order
  std::vector<TestError> errors;  // of the run itself
  std::deque<LogRecord> logs;     // the last kept_logs
  std::uint64_t log_count = 0;    // of all that there were
  std::int64_t start_ns = 0;
  std::int64_t last_ns = 0;  // of the last event
  std::uint64_t events = 0;
  bool started = false;
  bool ended = false;
  RunEnd end;
  bool interrupted = false;
  std::string damage;  // the first thing wrong with the journal itself; empty when sound

  // A parameter of testRunStart as text, by path ("plan", "id"); empty when it is not there.
  std::string parameter(const char* group, const char* key = nullptr) const;
};

// The step that put right what `failed` had found, and measured again, within its limits, all that
// was outside there. Null when `failed` did not fail, or still stands.
const StepRecord* repaired_by(const RunSummary& run, const StepRecord& failed);

// The verdict of what the journal says so far. `growing`: its writer may still add to it, so no end
// means running, not aborted.
Verdict verdict_of(const RunSummary& run, bool growing);
// Why it is that verdict, in one line that is safe to print: "pcie.link: PCIE_LINK_DEGRADED".
std::string verdict_reason(const RunSummary& run, bool growing);
// 0 pass, 1 fail, 3 could not test, 130 interrupted.
int exit_code(Verdict verdict);

class RunFold {
 public:
  void apply(const Result<Event>& event, std::uint64_t line);
  // Nothing more comes; `unfinished` are the bytes behind the last newline. Errors: bad_file (its
  // `where` is the caller's to set) when that was no journal of a run.
  Result<> finish(std::string_view unfinished);
  const RunSummary& summary() const { return run_; }

 private:
  void apply(const Event& event);
  void apply_to_step(StepRecord& step, const Event& event);
  void apply_extension(StepRecord& step, const Extension& extension, std::int64_t wall_ns);
  void apply_element(StepRecord& step, const SeriesElement& element);
  StepRecord& step(const std::string& id);
  void damaged(std::string what);
  void add_log(const Event& event, Severity severity, std::string message);

  RunSummary run_;
  std::uint64_t lines_ = 0;
  std::unordered_map<std::string, std::size_t> step_index_;
};

// The summary of a journal file as it is now. Bytes behind the last newline are what was cut off.
Result<RunSummary> summarize_journal(const std::string& path);

}  // namespace assay::reports
