// The first event of a run: what is tested, on what, by whom, by which plan.
#pragma once

#include "reports/record/event.h"
#include "station/run/runner.h"

namespace assay::station {

reports::RunStart make_run_start(const RunRequest& request);

}  // namespace assay::station
