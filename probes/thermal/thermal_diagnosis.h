// What the figures of a thermal fit say against those of a golden board. Pure.
//
//   |                        | resistance | time constant       | base           |
//   | poor contact           | higher     | the same            | the same       |
//   | a weak fan             | higher     | higher, as much     | the same       |
//   | a sensor that drifted  | the same   | the same            | off            |
//   | a sensor's wrong gain  | off        | the same            | off, as much   |
//
// Behind a heat capacity C the time constant is R C: what cools worse also takes longer. A contact
// on the way to it adds its drop at once. What a sensor adds or multiplies changes no time.
//
// A contact that is poor between the core and a sensor on its far side changes none of these: the
// core throttles while the sensor reads too little for it. That the clock tells, not the fit.
#pragma once

#include <optional>
#include <string>

#include "probes/framework/board_profile.h"
#include "probes/thermal/thermal_fit.h"

namespace assay::probes {

enum class ThermalCause { none, contact, fan, sensor };

struct ThermalDiagnosis {
  ThermalCause cause = ThermalCause::none;
  // Measured over golden, 1 is the same.
  double resistance_ratio = 1;
  double time_ratio = 1;
  double base_off_k = 0;
  bool gain_off = false;   // of a sensor: it multiplies, it does not add
  std::string comparison;  // the figures beside each other, for the evidence
};

// A figure is off when it is by more than the golden board's tolerance and its own expanded
// uncertainty (k = 2) together. `has_power`: the fit is in kelvin for a watt. None when the golden
// board's figures have no resistance (or rise) of that kind.
std::optional<ThermalDiagnosis> compare_with_golden(const ThermalFit& fit, bool has_power,
                                                    const GoldenThermal& golden);

// What a settled temperature at rest says by itself. A fault at rest can only be the sensor's, or a
// room that is not as the golden board's was by more than it may be.
struct RestLevel {
  double base_c = 0;    // less what the power at rest makes of it
  double off_k = 0;     // from the golden board's
  double margin_k = 0;  // the room's tolerance, and that of the resistance times the power
  bool comparable = true;

  bool is_off() const { return comparable && (off_k > margin_k || off_k < -margin_k); }
};

RestLevel compare_rest_with_golden(double c, std::optional<double> power_w,
                                   const GoldenThermal& golden);

}  // namespace assay::probes
