// thermal.read: the temperatures now. thermal.sample: temperature and clock beside a step.
#pragma once

#include "probes/framework/context.h"

namespace assay::probes {

Probe thermal_read_probe();
Probe thermal_sample_probe();

}  // namespace assay::probes
