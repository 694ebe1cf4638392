// The one door out of a run: everything that it learns goes through here into the journal, once,
// as it happens. Safe from any thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/cancel.h"
#include "base/result.h"
#include "reports/findings/finding.h"
#include "reports/journal/journal_writer.h"
#include "reports/record/event.h"

namespace assay::reports {

class StepRecorder;

class Recorder {
 public:
  // Creates the journal and writes its first line, the schema version.
  static Result<std::unique_ptr<Recorder>> create(const std::string& journal_path);

  void run_start(RunStart start);
  void run_end(RunEnd end);
  void error(std::string symptom, std::string message);
  void log(Severity severity, std::string message);

  // `limits` are the plan's; a measurement or series of that name is held against them.
  // The recorder must outlive the step.
  std::unique_ptr<StepRecorder> begin_step(std::string id, std::string name,
                                           std::vector<Limit> limits);

  // The step that made this finding first; nothing when none did. A finding is told once: a later
  // step that sees its traces points at that one.
  std::optional<std::string> found_by(std::string_view code) const;

  // The first failure to write (disk full, device gone). A run with one cannot be trusted.
  std::optional<Error> write_error() const;
  // Cancelled with it.
  const CancelToken& broken() const { return broken_; }

 private:
  friend class StepRecorder;
  explicit Recorder(JournalWriter writer) : writer_(std::move(writer)) {}
  void emit(std::optional<std::string> step_id, Payload payload);
  void sync();
  void fail_to_write(const Error& error);
  void note_finding(const std::string& code, const std::string& step_id);

  mutable std::mutex mutex_;
  std::map<std::string, std::string, std::less<>> finding_steps_;  // code -> step
  JournalWriter writer_;
  std::uint64_t next_sequence_ = 0;
  std::optional<Error> write_error_;
  CancelToken broken_;
};

// A row of samples inside a step. Its end is written when it is destroyed.
class Series {
 public:
  Series(StepRecorder& step, SeriesStart start);
  ~Series();
  Series(const Series&) = delete;
  Series& operator=(const Series&) = delete;

  // True when the value is within all limits.
  bool add(Value value);

 private:
  StepRecorder& step_;
  SeriesStart start_;
  std::atomic<std::uint64_t> count_{0};
};

class StepRecorder {
 public:
  StepRecorder(Recorder& run, std::string id, std::string name, std::vector<Limit> limits);
  // A step that was not ended is cut off in the journal too: it reads as aborted.
  ~StepRecorder() = default;
  StepRecorder(const StepRecorder&) = delete;
  StepRecorder& operator=(const StepRecorder&) = delete;

  const std::string& id() const { return id_; }

  // `from_profile` limits join the plan's. True when the value is within all of them; outside, the
  // step fails. A number that is not finite is an error of the test.
  bool measure(const std::string& name, Value value, const std::string& unit,
               std::vector<Validator> from_profile = {}, const std::string& part = {});
  std::unique_ptr<Series> series(const std::string& name, const std::string& unit,
                                 std::vector<Validator> from_profile = {});

  // A fault fails the step. Causes and remedies come from the catalog unless given.
  void finding(Finding finding);
  void error(std::string symptom, std::string message);
  void log(Severity severity, std::string message);
  void file(File file);
  void extension(std::string name, nlohmann::json content);
  // What the report shall have of the step beside its measurements: under "details", by name.
  void detail(std::string_view name, nlohmann::json content);
  // The result in a few characters, for the plan's list: "8 GT/s x4".
  void headline(std::string_view text);
  // Written at most 4 times a second. `total` 0: unknown.
  void progress(std::uint64_t done, std::uint64_t total, std::string_view text = {});
  // Why the step cannot be done here.
  void skip(std::string_view reason);

  // Writes the step's end, ERROR and SKIP as they were reported, and syncs the journal.
  void end();

  // Measurements that the plan limits and that were never taken: a limit that nothing was held
  // against is no pass.
  std::vector<std::string> unmeasured() const;

  // The codes of the faults found so far.
  std::set<std::string> faults() const;
  const Recorder& run() const { return run_; }

  bool failed() const { return failed_; }
  bool errored() const { return errored_; }
  bool skipped() const { return skipped_; }

 private:
  friend class Series;
  void emit(Payload payload) { run_.emit(id_, std::move(payload)); }
  // Joins the plan's limits, and notes that the measurement was taken.
  std::vector<Validator> limits_for(const std::string& name, std::vector<Validator> more);

  Recorder& run_;
  std::string id_;
  std::vector<Limit> limits_;
  mutable std::mutex noted_mutex_;
  std::set<std::string> measured_;
  std::set<std::string> faults_;
  std::atomic<bool> failed_{false};
  std::atomic<bool> errored_{false};
  std::atomic<bool> skipped_{false};
  std::atomic<std::int64_t> last_progress_ns_{0};
  std::atomic<unsigned> series_made_{0};
};

}  // namespace assay::reports
