// What a probe gets, and how it is declared. A probe is a function Result<void>(StepContext&): it
// reads the world through `machine`, reports through `recorder`, looks at `cancel` and gives
// progress. It never prints, never decides the run's verdict, never reads a global.
//
// An Error that it returns means "could not test" (the step is ERROR, or SKIP after
// recorder.skip()); what is wrong with the board is a measurement outside its limits or a finding.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/cancel.h"
#include "base/machine.h"
#include "base/result.h"
#include "base/worker_pool.h"
#include "probes/framework/board_profile.h"
#include "probes/framework/parameters.h"
#include "probes/framework/prompt.h"
#include "probes/memory/ram.h"
#include "reports/record/recorder.h"
#include "runtime/device/npu_device.h"

namespace assay::probes {

// What the probes of one run share.
struct Bench {
  const Machine& machine;
  const BoardProfile& board;
  runtime::NpuDevice& npu;
  Ram& ram;
  WorkerPool& workers;
  std::string uart_port;  // empty: found by the profile's USB ids
  // Where firmware images that a profile names are looked for.
  std::vector<std::string> firmware_folders = {};
  Prompt* prompt = nullptr;  // null: nobody to ask
};

struct StepContext {
  const Bench& bench;
  const Parameters& parameters;
  reports::StepRecorder& recorder;
  const CancelToken& cancel;
  std::string serial = {};  // that was scanned or given; empty: unknown

  bool cancelled() const { return cancel.cancelled(); }
};

struct MeasurementSpec {
  std::string name;
  std::string unit;
  std::string help;
  // A plan that uses the probe must set a limit for it.
  bool limit_required = false;
  // Text that is a semantic version and is compared as one.
  bool semantic_version = false;
};

// A monitor samples beside whatever step runs. It is made at the start of each step, so that its
// series are the step's, and sampled from one thread.
class Monitor {
 public:
  virtual ~Monitor() = default;
  virtual Result<> sample() = 0;
  // Once, behind the last sample and before the step's series end: what all samples tell.
  virtual void finish() {}
};

// `limits` are those that the plan sets for the monitor, by measurement.
struct MonitorContext {
  const Bench& bench;
  reports::StepRecorder& recorder;
  std::vector<reports::Limit> limits;

  std::vector<reports::Validator> limits_for(const std::string& measurement) const;
};

struct Probe {
  std::string name;  // "memory.test"
  std::string summary;
  std::vector<ParameterSpec> parameters;
  std::vector<MeasurementSpec> measurements;
  // What is wrong with parameters on any machine; a plan that has it is refused when it is read.
  // Errors: usage, with the parameter's name as `where`.
  std::function<Result<>(const Parameters&)> check;
  // Looked at before a run begins: what is asked for cannot be had on this machine. Errors: as
  // check().
  std::function<Result<>(const Bench&, const Parameters&)> preflight;
  // A step, a monitor, or both.
  std::function<Result<>(StepContext&)> run;
  // An Error of kind unavailable: this machine has nothing to sample, and that is no failure.
  std::function<Result<std::unique_ptr<Monitor>>(const MonitorContext&)> monitor;
  // It reads what is past. No monitor runs beside it: a clock that is still low from the step
  // before would be found again, as this one's.
  bool looks_back = false;
};

}  // namespace assay::probes
