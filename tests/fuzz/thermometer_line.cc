// probes/thermal/thermometer_line.h: what a serial thermometer sends, a person types, a file holds.
#include "probes/thermal/thermometer_line.h"

#include <cmath>

#include "probes/thermal/calibration.h"
#include "tests/fuzz/fuzz.h"

using assay::fuzz::require;

namespace {

bool possible(double c) {
  return c >= -273.15 && c <= 1000;
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text = assay::fuzz::text_of(data, size);
  if (const auto c = assay::probes::parse_thermometer_line(text)) {
    require(possible(*c), "a temperature that can be");
    assay::fuzz::reached("a temperature");
  } else {
    require(!c.error().what.empty() && !c.error().hint.empty(), "an error says what was expected");
  }
  if (const auto typed = assay::probes::parse_typed_reading(text)) {
    require(possible(typed->reference_c) && possible(typed->sensor_c.value_or(0)),
            "temperatures that can be");
    if (typed->sensor_c) assay::fuzz::reached("both typed");
  }
  const auto pairs = assay::probes::parse_pairs(text, "pairs.csv");
  if (!pairs) {
    require(pairs.error().where.starts_with("pairs.csv"), "an error has its place");
    return 0;
  }
  assay::fuzz::reached(std::to_string(pairs->size()) + " pairs");
  double last = -1e300;
  for (const auto& pair : *pairs) {
    require(possible(pair.sensor_c) && possible(pair.reference_c), "temperatures that can be");
    if (pair.time_s) {
      require(*pair.time_s > last, "the time grows");
      last = *pair.time_s;
    }
  }
  if (pairs->size() > 200) return 0;  // the slopes of all pairs take their square
  const auto result = assay::probes::calibrate(*pairs, {});
  if (!result) return 0;
  assay::fuzz::reached("a calibration");
  require(std::isfinite(result->correction_k), "a finite correction");
  require(result->expanded_k > 0, "no correction is certain: the reference is not");
  require(result->outliers + result->unsettled + assay::probes::least_pairs <= result->pairs,
          "what is left was enough");
  return 0;
}
