// Reads a test plan (boards/plans/*.json, schema assay/plan/1) and checks it against the catalog:
// every probe, parameter, limit and unit is known before a run starts.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "probes/framework/context.h"
#include "station/config/located_json.h"

namespace assay::station {

struct PlanStep {
  std::string id;
  const probes::Probe* probe = nullptr;
  probes::Parameters parameters;
  std::vector<reports::Limit> limits;
  std::int64_t timeout_ns = 0;  // 0: none
  bool required = true;         // skipped, it makes the run INCOMPLETE
  // Done only when an earlier step has a certain fault, and meant to put it right; else empty.
  std::string repairs;        // that step's id
  std::string repairs_fault;  // "FIRMWARE_OUTDATED"
};

struct PlanMonitor {
  const probes::Probe* probe = nullptr;
  double hz = 1;
  std::vector<reports::Limit> limits;
  bool stops_step = false;  // a limit crossed ends the step at once
};

struct Plan {
  std::string id;
  std::string name;
  std::string reduced_from;  // the plan that this is a smaller version of; may be empty
  bool required_root = false;
  std::vector<PlanMonitor> monitors;
  std::vector<PlanStep> steps;
};

// Errors: bad_file with file:line:column and what was expected.
Result<Plan> parse_plan(const LocatedJson& file);

// One parameter as text from the command line or as JSON from a plan, by its declaration. Errors
// say what was expected.
Result<probes::ParameterValue> parse_parameter(const probes::ParameterSpec& spec,
                                               const nlohmann::json& value);

}  // namespace assay::station
