// One reading of a temperature sensor, and what is wrong with it that is not heat. Sensors and
// their drivers say "no sensor" in many ways: an errno, or a value that stands for none.
//
// Sources: Documentation/driver-api/thermal/sysfs-api.rst and Documentation/hwmon/sysfs-interface
// (both: thousandths of a degree Celsius); THERMAL_TEMP_INVALID (-274 C) of linux/thermal.h.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/machine.h"

namespace assay::probes {

struct SensorReading {
  std::optional<std::int64_t> mc;  // what the file said, as a number
  int error_number = 0;            // of a read that failed; 0 when it was no errno
  Error error = {};                // what went wrong where `mc` is absent
};

enum class ReadingFault {
  none,
  sentinel,      // a value that stands for "no sensor": -273, exactly 0, 127.5, 255 C
  wrong_unit,    // a number that makes sense in degrees, micro-degrees or kelvin
  out_of_range,  // no silicon has it, and no unit explains it
};

struct ReadingVerdict {
  ReadingFault fault = ReadingFault::none;
  std::string why;  // "what drivers give for a sensor that is not there"; empty for none
};

// Reads the file once, without waiting. A driver may answer with an errno: see explain_errno().
SensorReading read_sensor(const Machine& machine, const std::string& path);

// `others_mc` is a temperature that another sensor of the same machine has, where there is one: a
// value near 0 C is a fault only on a machine that is not cold.
ReadingVerdict judge_reading(std::int64_t mc, std::optional<std::int64_t> others_mc = std::nullopt);

// What a driver means by an errno, and what to do: "busy: ..."; none of it is heat. Empty for an
// errno that says nothing of the sensor.
std::string explain_errno(int error_number);

}  // namespace assay::probes
