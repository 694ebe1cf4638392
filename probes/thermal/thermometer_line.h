// What a reference thermometer says: a line of a number and a unit, typed by a person, in a file,
// or from a serial port. Untrusted text; nothing here reads or waits.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "probes/thermal/calibration.h"

namespace assay::probes {

// A temperature in degrees Celsius: "45.2", "+045.2 C", "45,2 °C", "113.4 F", "318.35 K", with
// anything in front of the number that ends in a colon, an equals sign or white space ("T1: 45.2
// C"). Without a unit it is Celsius. Errors: bad_file for what is no temperature, for one below
// absolute zero, and for one beyond 1,000 C.
Result<double> parse_thermometer_line(std::string_view line);

// A reference reading, or sensor and reference, as a person types them: "46.1", "44.3 46.1".
struct TypedReading {
  std::optional<double> sensor_c;
  double reference_c = 0;
};
Result<TypedReading> parse_typed_reading(std::string_view line);

inline constexpr std::size_t most_pairs = 100'000;

// A table of pairs: comma, semicolon or tab between columns; the first line may name them. Columns
// "sensor" and "reference" in degrees Celsius, and "time" in seconds, which grows, where there is
// one; without names, sensor, reference and time in this order. Lines that are empty or begin with
// # are left out. Errors: bad_file with `name`:line.
Result<std::vector<ReadingPair>> parse_pairs(std::string_view text, const std::string& name);

}  // namespace assay::probes
