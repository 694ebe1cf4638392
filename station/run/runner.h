// Runs a plan: step after step, monitors beside each, everything into the recorder. What the
// outcome is, is read from the journal afterwards.
#pragma once

#include <string>

#include "base/cancel.h"
#include "base/result.h"
#include "probes/framework/context.h"
#include "reports/record/recorder.h"
#include "station/config/plan.h"

namespace assay::station {

// The serial number of a board that gives none.
inline constexpr const char* unknown_serial = "unknown";

struct RunRequest {
  const Plan& plan;
  const probes::Bench& bench;
  std::string serial;
  std::string operator_name;
  std::string station_name;
  std::string command_line;
  std::vector<std::string> faults;  // of a virtual board
  bool is_virtual = false;
};

// Whether the machine can do what the plan asks; before a journal is made. Errors: usage (asks for
// more than there is), unavailable (needs root).
Result<> preflight(const Plan& plan, const probes::Bench& bench);
// The same for one step; the error's `where` is the parameter.
Result<> preflight(const PlanStep& step, const probes::Bench& bench);

// How a journal names the error that ended a step: "wrong-use".
const char* symptom_of(ErrorKind kind);

// Writes the whole run from its start to its end. Errors: the journal could not be written; the
// run is cut off there. `interrupt` cancelled: the run ends as interrupted.
Result<> run_plan(const RunRequest& request, reports::Recorder& recorder,
                  const CancelToken& interrupt);

}  // namespace assay::station
