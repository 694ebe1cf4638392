#include "station/run/runner.h"

#include <unistd.h>

#include <map>
#include <set>

#include "base/clock.h"
#include "reports/findings/finding.h"
#include "station/run/monitors.h"
#include "station/run/run_start.h"

namespace assay::station {
namespace {

using reports::StepRecorder;

// What the steps came to, for the run's own end event and for the steps behind them.
struct Outcome {
  std::map<std::string, std::set<std::string>> failed;  // step -> its faults
  std::set<std::string> errored;                        // steps
  bool untested = false;
  bool stopped = false;

  void add(const PlanStep& step, const StepRecorder& recorder) {
    if (recorder.failed()) failed[step.id] = recorder.faults();
    if (recorder.errored()) errored.insert(step.id);
    untested = untested || recorder.errored() ||
               (recorder.skipped() && step.required && step.repairs.empty());
    if (!step.repairs.empty() && !recorder.failed() && !recorder.errored() && !recorder.skipped()) {
      failed.erase(step.repairs);
    }
    for (const std::string& code : recorder.faults()) {
      const auto* entry = reports::find_catalog_entry(code);
      stopped = stopped || (entry != nullptr && entry->stops_run);
    }
  }
  // Why the step is left out; empty: it is to be done. A step that broke off has not seen all that
  // speaks against a repair: that it is another board.
  std::string reason_to_skip(const PlanStep& step) const {
    if (step.repairs.empty()) return {};
    if (errored.contains(step.repairs)) return step.repairs + " could not be tested to its end";
    const auto found = failed.find(step.repairs);
    if (found != failed.end() && found->second.contains(step.repairs_fault)) return {};
    return "not needed: " + step.repairs + " has no " + step.repairs_fault;
  }
};

}  // namespace

const char* symptom_of(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::usage:
      return "wrong-use";
    case ErrorKind::bad_file:
      return "bad-file";
    case ErrorKind::unavailable:
      return "unavailable";
    case ErrorKind::io:
      return "input-output";
    case ErrorKind::timeout:
      return "timeout";
    case ErrorKind::vanished:
      return "vanished";
    case ErrorKind::protocol:
      return "protocol";
    case ErrorKind::cancelled:
      return "cancelled";
    case ErrorKind::exhausted:
      return "exhausted";
  }
  return "error";
}

namespace {

void run_step(const RunRequest& request, const PlanStep& step, StepRecorder& recorder,
              const CancelToken& interrupt, std::set<std::string>& unobserved) {
  CancelToken cancel(&interrupt);
  if (step.timeout_ns != 0) cancel.set_deadline(monotonic_ns() + step.timeout_ns);
  Result<> done;
  {
    const MonitorThread monitors(
        step.probe->looks_back ? std::vector<PlanMonitor>{} : request.plan.monitors, request.bench,
        recorder, cancel);
    unobserved.insert(monitors.unobserved().begin(), monitors.unobserved().end());
    probes::StepContext context{request.bench, step.parameters, recorder, cancel,
                                request.serial == unknown_serial ? "" : request.serial};
    done = step.probe->run(context);
  }
  if (interrupt.cancelled()) {
    recorder.error("interrupted", "the run was interrupted in this step");
  } else if (cancel.timed_out()) {
    recorder.error("timeout", "the step took longer than its plan allows");
  } else if (!done && cancel.cancelled() && recorder.failed()) {
    recorder.log(reports::Severity::warning, "stopped by a monitor's limit");
  } else if (!done) {
    recorder.error(symptom_of(done.error().kind), done.error().text());
  } else if (!recorder.failed() && !recorder.errored() && !recorder.skipped()) {
    for (const std::string& name : recorder.unmeasured()) {
      recorder.error("unmeasured", "the plan limits " + name + ", and the step did not measure it");
    }
  }
}

}  // namespace

Result<> preflight(const PlanStep& step, const probes::Bench& bench) {
  if (!step.probe->preflight) return {};
  return step.probe->preflight(bench, step.parameters);
}

Result<> preflight(const Plan& plan, const probes::Bench& bench) {
  if (plan.required_root && geteuid() != 0) {
    return fail(ErrorKind::unavailable, "the plan needs root", plan.id, "run it with sudo");
  }
  for (const PlanStep& step : plan.steps) {
    // What a repair needs is asked for only where there is something to repair.
    if (!step.repairs.empty()) continue;
    const auto checked = preflight(step, bench);
    if (checked) continue;
    Error error = checked.error();
    error.where = step.id + (error.where.empty() ? "" : ": " + error.where);
    return std::unexpected(std::move(error));
  }
  return {};
}

Result<> run_plan(const RunRequest& request, reports::Recorder& recorder,
                  const CancelToken& interrupt) {
  recorder.run_start(make_run_start(request));
  // A step whose results cannot be kept need not go on.
  const CancelToken stop(&interrupt, &recorder.broken());
  Outcome outcome;
  std::set<std::string> unobserved;
  for (const PlanStep& step : request.plan.steps) {
    if (interrupt.cancelled()) break;
    const auto step_recorder = recorder.begin_step(step.id, step.probe->name, step.limits);
    if (const std::string reason = outcome.reason_to_skip(step); reason.empty()) {
      run_step(request, step, *step_recorder, stop, unobserved);
    } else {
      step_recorder->skip(reason);
    }
    step_recorder->end();
    outcome.add(step, *step_recorder);
    if (const auto error = recorder.write_error()) return std::unexpected(*error);
    if (outcome.stopped) {
      recorder.log(reports::Severity::error, "the run stops behind " + step.id);
      break;
    }
  }
  // Limits that nothing was held against are no pass of the run, whatever its steps came to.
  for (const std::string& monitor : unobserved) {
    recorder.error("not-observed", "the plan limits " + monitor);
    outcome.untested = true;
  }
  if (interrupt.cancelled()) {
    recorder.error("interrupted", "stopped by a signal or a person");
    recorder.run_end({reports::Status::error, reports::RunResult::not_applicable});
  } else {
    recorder.run_end({reports::Status::complete, !outcome.failed.empty() ? reports::RunResult::fail
                                                 : outcome.untested
                                                     ? reports::RunResult::not_applicable
                                                     : reports::RunResult::pass});
  }
  if (const auto error = recorder.write_error()) return std::unexpected(*error);
  return {};
}

}  // namespace assay::station
