// One run from the folder to the verdict: journal, runner, front-end, report.
#pragma once

#include <string>

#include "reports/summary/run_summary.h"
#include "station/config/plan.h"
#include "station/run/session.h"

namespace assay::station {

enum class FrontEnd {
  dashboard,  // needs a terminal that can show it
  lines,      // plain lines on standard output
  quiet,
};

struct ExecuteOptions {
  std::string serial;
  std::string operator_name;
  std::string station_name;
  std::string command_line;
  std::string folder;  // where journal.jsonl and report.json go; exists
  FrontEnd front_end = FrontEnd::lines;
  int signal_fd = -1;  // of take_signals(), called before the session was opened
};

struct Executed {
  reports::RunSummary summary;
  std::string journal;
  std::string report;
};

// Errors: what keeps the run from starting or its journal from being written. A run that was
// interrupted, failed or could not test is no error: the summary says so.
Result<Executed> execute(const Session& session, const Plan& plan, const ExecuteOptions& options);

}  // namespace assay::station
