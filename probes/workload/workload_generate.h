// workload.generate: loads a model through the board's memory rules and generates tokens.
#pragma once

#include "probes/framework/context.h"

namespace assay::probes {

Probe workload_generate_probe();

}  // namespace assay::probes
