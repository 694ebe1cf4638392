#include <algorithm>

#include "base/utf8.h"
#include "reports/summary/run_summary.h"

namespace assay::reports {

const char* to_word(StepState state) {
  static constexpr const char* words[] = {"PENDING", "RUNNING", "PASS", "FAIL", "ERROR", "SKIP"};
  return words[static_cast<int>(state)];
}

const char* to_word(Verdict verdict) {
  static constexpr const char* words[] = {"RUNNING", "PASS", "FAIL", "INCOMPLETE", "ABORTED"};
  return words[static_cast<int>(verdict)];
}

std::string RunSummary::parameter(const char* group, const char* key) const {
  auto found = start.parameters.find(group);
  if (found == start.parameters.end()) return {};
  if (key != nullptr) {
    const nlohmann::json& object = *found;
    if (!object.is_object()) return {};
    found = object.find(key);
    if (found == object.end()) return {};
  }
  return found->is_string() ? found->get<std::string>() : std::string();
}

const StepRecord* repaired_by(const RunSummary& run, const StepRecord& failed) {
  if (failed.state != StepState::fail) return nullptr;
  const auto puts_right = [&](const StepRecord& step) {
    if (step.state != StepState::pass || step.repairs.empty() || step.repairs != failed.id) {
      return false;
    }
    const auto within_now = [&](const Measurement& before) {
      return std::any_of(
          step.measurements.begin(), step.measurements.end(), [&](const MeasurementRecord& m) {
            return m.measurement.name == before.name && m.measurement.part == before.part &&
                   satisfies(m.measurement.value, before.validators);
          });
    };
    return failed.errors.empty() &&
           std::all_of(failed.findings.begin(), failed.findings.end(),
                       [&](const FindingRecord& f) {
                         return f.finding.kind != FindingKind::fault ||
                                f.finding.code == step.repairs_fault;
                       }) &&
           std::all_of(failed.series.begin(), failed.series.end(),
                       [](const SeriesRecord& s) { return s.within(); }) &&
           std::all_of(
               failed.measurements.begin(), failed.measurements.end(),
               [&](const MeasurementRecord& m) { return m.within || within_now(m.measurement); });
  };
  const auto found = std::find_if(run.steps.begin(), run.steps.end(), puts_right);
  return found == run.steps.end() ? nullptr : &*found;
}

namespace {

// Failed, and still broken.
bool stands_failed(const RunSummary& run, const StepRecord& step) {
  return step.state == StepState::fail && repaired_by(run, step) == nullptr;
}

// A repair that was not needed is nothing that was left out.
bool left_out(const StepRecord& step) {
  return step.state == StepState::skip && step.repairs.empty();
}

}  // namespace

Verdict verdict_of(const RunSummary& run, bool growing) {
  if (run.interrupted) return Verdict::aborted;
  if (!run.ended) return growing ? Verdict::running : Verdict::aborted;
  const auto any = [&](StepState state, bool required_only) {
    return std::any_of(run.steps.begin(), run.steps.end(), [&](const StepRecord& s) {
      return s.state == state && (s.required || !required_only);
    });
  };
  const bool failed = std::any_of(run.steps.begin(), run.steps.end(),
                                  [&](const StepRecord& s) { return stands_failed(run, s); });
  if (failed || run.end.result == RunResult::fail) return Verdict::fail;
  // A run that says of itself that it broke off, a step without an end, a line that is missing:
  // none of them can be a pass.
  if (!run.damage.empty() || !run.errors.empty() || run.steps.empty() ||
      run.end.result != RunResult::pass || any(StepState::error, false) ||
      any(StepState::running, false) || any(StepState::pending, true) ||
      std::any_of(run.steps.begin(), run.steps.end(),
                  [](const StepRecord& s) { return s.required && left_out(s); })) {
    return Verdict::incomplete;
  }
  return Verdict::pass;
}

namespace {

// A pass says what it does not cover.
std::string pass_reason(const RunSummary& run) {
  std::string not_tested;
  std::string repairs;
  for (const StepRecord& step : run.steps) {
    if (const StepRecord* by = repaired_by(run, step)) {
      repairs += "; " + step.id + " was put right by " + by->id;
    } else if (step.state == StepState::skip && !left_out(step)) {
      repairs += "; " + step.id + " was not needed";
    } else if (step.state != StepState::pass) {
      not_tested += (not_tested.empty() ? "" : ", ") + step.id;
    }
  }
  return (not_tested.empty() ? "every step passed"
                             : "every required step passed; not tested: " + not_tested) +
         repairs;
}

std::string reason(const RunSummary& run, bool growing) {
  const Verdict verdict = verdict_of(run, growing);
  const auto first = [&](auto&& wanted) -> const StepRecord* {
    const auto found = std::find_if(run.steps.begin(), run.steps.end(), wanted);
    return found == run.steps.end() ? nullptr : &*found;
  };
  switch (verdict) {
    case Verdict::running:
      return {};
    case Verdict::pass:
      return pass_reason(run);
    case Verdict::fail: {
      const StepRecord* step = first([&](const StepRecord& s) { return stands_failed(run, s); });
      if (step == nullptr) return "the run's end says so";
      for (const FindingRecord& f : step->findings) {
        if (f.finding.kind == FindingKind::fault) return step->id + ": " + f.finding.code;
      }
      for (const MeasurementRecord& m : step->measurements) {
        if (!m.within) return step->id + ": " + m.measurement.name + " is outside its limits";
      }
      for (const SeriesRecord& s : step->series) {
        if (!s.within()) return step->id + ": " + s.start.name + " went outside its limits";
      }
      return step->id;
    }
    case Verdict::aborted:
      if (run.interrupted) return "interrupted";
      if (const StepRecord* step =
              first([](const StepRecord& s) { return s.state == StepState::running; })) {
        return "cut off in " + step->id;
      }
      return "cut off before its end";
    case Verdict::incomplete:
      break;
  }
  if (!run.damage.empty()) return "the journal is damaged: " + run.damage;
  if (!run.errors.empty()) return run.errors.front().symptom + ": " + run.errors.front().message;
  if (const StepRecord* step = first([](const StepRecord& s) {
        return s.state == StepState::error || s.state == StepState::running ||
               (s.required && (s.state == StepState::pending || left_out(s)));
      })) {
    if (!step->errors.empty()) return step->id + ": " + step->errors.front().message;
    if (!step->skip_reason.empty()) return step->id + " was skipped: " + step->skip_reason;
    return step->id + " was not done";
  }
  return "the run did not end as one that passed";
}

}  // namespace

std::string verdict_reason(const RunSummary& run, bool growing) {
  return to_printable(reason(run, growing));
}

int exit_code(Verdict verdict) {
  switch (verdict) {
    case Verdict::pass:
      return 0;
    case Verdict::fail:
      return 1;
    case Verdict::aborted:
      return 130;
    case Verdict::incomplete:
    case Verdict::running:
      return 3;
  }
  return 3;
}

}  // namespace assay::reports
