// The findings of a sensor that is broken or drifted, in words. None of them speaks of heat.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "probes/thermal/sensor_history.h"
#include "probes/thermal/sensor_reading.h"
#include "reports/findings/finding.h"

namespace assay::probes {

// `label` is the sensor's name for a person, `file` where its readings come from.
reports::Finding sensor_implausible(const std::string& label, const std::string& file,
                                    std::int64_t mc, const ReadingVerdict& verdict);
reports::Finding sensor_jumping(const std::string& label, const std::string& file,
                                const SensorHistory& history);
// `why` says what shows that the temperature moved while the reading did not.
reports::Finding sensor_stuck(const std::string& label, const std::string& file,
                              const SensorHistory& history, const std::string& why);

// Off by `off_k` from a golden board's level; negative: reads too little.
reports::Finding sensor_drifted(const std::string& label, double off_k,
                                std::vector<std::string> evidence);

// Shows `ratio` of a golden board's rise for the same heat.
reports::Finding sensor_gain_off(const std::string& label, double ratio,
                                 std::vector<std::string> evidence);

}  // namespace assay::probes
