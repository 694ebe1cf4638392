// thermal.read: all temperatures, trip points and means to cool, now. thermal.sample: temperature
// and clock beside a step. thermal.watch: the same under a load of its own. thermal.calibrate: the
// sensor against a reference thermometer.
#pragma once

#include <vector>

#include "probes/framework/context.h"

namespace assay::probes {

Probe thermal_read_probe();
Probe thermal_sample_probe();
Probe thermal_watch_probe();
Probe thermal_calibrate_probe();

// What a ThermalWatch measures.
std::vector<MeasurementSpec> thermal_watch_measurements();

}  // namespace assay::probes
