// report.json: one run for machines and people, a pure function of its journal.
#pragma once

#include <string>

#include "reports/summary/run_summary.h"

namespace assay::reports {

// Indented JSON with a newline at its end; the same summary gives the same bytes.
// `growing` as for verdict_of(): a report of a run that still goes on says RUNNING.
std::string report_json(const RunSummary& run, bool growing = false);

}  // namespace assay::reports
