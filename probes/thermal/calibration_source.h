// Pairs of readings as they are taken: the board's sensor beside a reference thermometer, which a
// person reads or a serial port gives. Each pair is taken while the temperature is settled.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "firmware/serial/transport.h"
#include "probes/framework/context.h"
#include "probes/thermal/calibration.h"

namespace assay::probes {

struct SourceSettings {
  std::string sensor_file;  // of the board's zone; empty: there is none, and who types gives both
  double settled_k_per_s = 0;
  std::int64_t settle_time_ns = 0;  // how long to wait for it, each time
  std::uint64_t readings = 0;       // of a serial thermometer
};

// Lines of a serial thermometer, each with a temperature (thermometer_line.h), until there are
// `readings` pairs. What is no temperature is passed over. Errors: timeout (has not settled, or no
// reading came), protocol (what comes are no temperatures), those of the port and of the sensor.
Result<std::vector<ReadingPair>> pairs_from_thermometer(StepContext& context,
                                                        firmware::Transport& thermometer,
                                                        const SourceSettings& settings);

// Asks for readings until an empty line or the end of input: the reference's, to which the sensor's
// own is taken, or "sensor reference". Errors: timeout (has not settled), cancelled, those of the
// sensor.
Result<std::vector<ReadingPair>> pairs_from_person(StepContext& context, Prompt& prompt,
                                                   const SourceSettings& settings);

}  // namespace assay::probes
