#include "station/run/runner.h"

#include <unistd.h>

#include <set>

#include "base/clock.h"
#include "station/run/monitors.h"
#include "station/run/run_start.h"

namespace assay::station {
namespace {

using reports::StepRecorder;

// What a step came to, for the run's own end event.
struct Outcome {
  bool failed = false;
  bool untested = false;
};

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

void run_step(const RunRequest& request, const PlanStep& step, StepRecorder& recorder,
              const CancelToken& interrupt, std::set<std::string>& unobserved) {
  CancelToken cancel(&interrupt);
  if (step.timeout_ns != 0) cancel.set_deadline(monotonic_ns() + step.timeout_ns);
  Result<> done;
  {
    const MonitorThread monitors(request.plan.monitors, request.bench, recorder, cancel);
    unobserved.insert(monitors.unobserved().begin(), monitors.unobserved().end());
    probes::StepContext context{request.bench, step.parameters, recorder, cancel};
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
    run_step(request, step, *step_recorder, stop, unobserved);
    step_recorder->end();
    outcome.failed = outcome.failed || step_recorder->failed();
    outcome.untested =
        outcome.untested || step_recorder->errored() || (step_recorder->skipped() && step.required);
    if (const auto error = recorder.write_error()) return std::unexpected(*error);
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
    recorder.run_end({reports::Status::complete, outcome.failed ? reports::RunResult::fail
                                                 : outcome.untested
                                                     ? reports::RunResult::not_applicable
                                                     : reports::RunResult::pass});
  }
  if (const auto error = recorder.write_error()) return std::unexpected(*error);
  return {};
}

}  // namespace assay::station
