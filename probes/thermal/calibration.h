// A sensor's correction from pairs of readings, and how uncertain it is. Pure functions.
//
// The correction is reference minus sensor. Outliers go first (Hampel, robust_statistics.h). An
// offset is fitted, and an offset with a gain where the pairs span enough; the gain is kept when it
// makes Akaike's corrected criterion better by 4 or more ("considerably less support" for the other
// one: Burnham and Anderson, Model Selection, 2nd ed. 2002, section 2.6; AICc: Hurvich and Tsai,
// Biometrika 76, 1989).
//
// The uncertainty is a budget after the GUM (JCGM 100:2008): scatter as type A, all else as type B
// with rectangular distributions (4.3.7), added by their squares (5.1.2), expanded by k = 2. The
// scatter of few readings is widened by sqrt((n-1)/(n-3)), the standard deviation of the
// t-distribution that describes it (JCGM 101:2008, 6.4.9), so that k = 2 covers 95 % of them too.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"

namespace assay::probes {

struct ReadingPair {
  double sensor_c = 0;
  double reference_c = 0;
  std::optional<double> time_s;  // when both were taken, where it is known
};

// "2C,2%": the larger of 2 C and 2 % of the reading. Half-widths, never negative.
struct ReferenceAccuracy {
  double kelvin = 2;
  double percent = 2;
  double at(double reference_c) const;
};

// Of an infrared thermometer. A surface of emissivity e looks as warm as what it radiates and what
// it reflects of its surroundings.
struct Emissivity {
  double value = 0.95;
  double tolerance = 0.02;  // half-width
  double surroundings_c = 23;
  // Half-width in kelvin: |dT/de| * tolerance, of the Stefan-Boltzmann law.
  double error_at(double reference_c) const;
};

struct CalibrationSettings {
  ReferenceAccuracy accuracy;
  std::optional<Emissivity> emissivity;
  // The readings' last digit, in kelvin; 0: found from the readings.
  double reference_resolution_k = 0;
  // Where the correction is wanted when it depends on the temperature; else the pairs' middle.
  std::optional<double> wanted_at_c;
  // Pairs with times: only those taken while both had settled. In K/s.
  double settled_k_per_s = 0.2 / 60;
};

// One line of the budget: a standard uncertainty in kelvin.
struct UncertaintyPart {
  std::string name;
  double u_k = 0;
};

struct Calibration {
  std::size_t pairs = 0;      // that were given
  std::size_t unsettled = 0;  // of them, taken while the temperature moved
  std::size_t outliers = 0;   // of the settled ones
  bool with_gain = false;
  double correction_k = 0;  // to add to the sensor, at `at_c`
  double at_c = 0;
  double gain = 1;  // degrees of the reference for a degree of the sensor
  double scatter_k = 0;
  std::vector<UncertaintyPart> budget;
  double expanded_k = 0;  // k = 2

  bool smaller_than_its_uncertainty() const;
};

inline constexpr std::size_t least_pairs = 4;

// Errors: bad_file for pairs that no calibration can be made of (too few, none of them settled).
Result<Calibration> calibrate(const std::vector<ReadingPair>& pairs,
                              const CalibrationSettings& settings);

// The largest step of which all values are multiples: 0.1 for 45.1, 45.3, 46.0. In thousandths;
// 0 when there are fewer than 2 different values.
double resolution_of(const std::vector<double>& values);

}  // namespace assay::probes
