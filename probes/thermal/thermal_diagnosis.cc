#include "probes/thermal/thermal_diagnosis.h"

#include <fmt/core.h>

#include <cmath>

#include "probes/thermal/thermal_limits.h"

namespace assay::probes {
namespace {

// Of a rise in resistance, the part that the time constant must show for it to lie behind the heat
// capacity: between all of it (a fan) and none (a contact).
constexpr double half = 0.5;

}  // namespace

std::optional<ThermalDiagnosis> compare_with_golden(const ThermalFit& fit, bool has_power,
                                                    const GoldenThermal& golden) {
  const std::optional<double> expected = has_power ? golden.resistance_k_per_w : golden.rise_k;
  if (!expected) return std::nullopt;
  const double golden_base = celsius(golden.base_mc);
  ThermalDiagnosis told;
  told.resistance_ratio = fit.resistance / *expected;
  told.time_ratio = fit.time_s / golden.time_s;
  told.base_off_k = fit.base_c - golden_base;
  told.comparison = fmt::format(
      "{} {:.3g} {} (golden {:.3g}), time constant {:.3g} s (golden {:.3g} s), {:.1f} C at no "
      "{} (golden {:.1f} C, within {:.1f} K)",
      has_power ? "resistance" : "rise", fit.resistance, has_power ? "K/W" : "K", *expected,
      fit.time_s, golden.time_s, fit.base_c, has_power ? "power" : "load", golden_base,
      celsius(golden.base_tolerance_mc));

  const double resistance_margin = golden.tolerance + 2 * fit.u_resistance / *expected;
  const bool resistance_high = told.resistance_ratio > 1 + resistance_margin;
  const bool resistance_low = told.resistance_ratio < 1 - resistance_margin;
  const bool base_off =
      std::abs(told.base_off_k) > celsius(golden.base_tolerance_mc) + 2 * fit.u_base_c;
  if (resistance_high && told.time_ratio - 1 > half * (told.resistance_ratio - 1)) {
    told.cause = ThermalCause::fan;
  } else if (resistance_high) {
    // A gain multiplies the level too; in another room the level is off, but not by as much.
    const bool as_much =
        golden.base_mc != 0 && base_off &&
        std::abs(fit.base_c / golden_base - told.resistance_ratio) <= resistance_margin;
    told.cause = as_much ? ThermalCause::sensor : ThermalCause::contact;
    told.gain_off = as_much;
  } else if (base_off && !resistance_low) {
    told.cause = ThermalCause::sensor;
  } else if (resistance_low) {
    // No board cools better than a good one by this much: the sensor shows too little of it.
    told.cause = ThermalCause::sensor;
    told.gain_off = true;
  }
  return told;
}

RestLevel compare_rest_with_golden(double c, std::optional<double> power_w,
                                   const GoldenThermal& golden) {
  RestLevel level{.base_c = c, .margin_k = celsius(golden.base_tolerance_mc)};
  if (power_w && golden.resistance_k_per_w) {
    const double rise = *golden.resistance_k_per_w * *power_w;
    level.base_c -= rise;
    level.margin_k += golden.tolerance * rise;
  } else if (!golden.rise_k) {
    // The golden level is one without power, and what the power is now nobody knows.
    level.comparable = false;
  }
  level.off_k = level.base_c - celsius(golden.base_mc);
  return level;
}

}  // namespace assay::probes
