#include "probes/thermal/calibration.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/clock.h"
#include "probes/thermal/robust_statistics.h"
#include "probes/thermal/settling.h"

namespace assay::probes {
namespace {

constexpr double kelvin_at_0_c = 273.15;
// Below this spread a gain cannot be told from an offset; and noise of the sensor, which is in x
// and with the other sign in y, would look like one.
constexpr double least_span_k = 10;
// A gain takes a second coefficient: its pairs must be more.
constexpr std::size_t least_pairs_for_gain = 6;
constexpr double criterion_margin = 4;
constexpr double coverage_factor = 2;

// How many scaled MADs an outlier is away. The median distance of a few readings is often too small
// by luck; a bound that shall leave 19 of 20 clean rows whole must be wider for them (Davies and
// Gather, JASA 88, 1993, tabulate it for Hampel's rule: 3.9 for 20 readings).
double outlier_width(std::size_t count) {
  return 3.3 + 14.0 / static_cast<double>(count);
}
// What is small beside the reference's own error spoils nothing and is part of the scatter.
constexpr double negligible_share = 0.25;

double rectangular(double half_width) {
  return half_width / std::sqrt(3.0);
}

// Of a row, without the outliers at both ends.
double middle_span(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() * 3 / 4] - values[values.size() / 4];
}

double akaike_corrected(double rss, std::size_t count, unsigned coefficients) {
  const auto n = static_cast<double>(count);
  const double k = coefficients + 1.0;  // and the scatter
  // Readings without any scatter at all: a thousandth of a degree squared is nothing.
  const double mean_square = std::max(rss / n, 1e-9);
  return n * std::log(mean_square) + 2 * k + 2 * k * (k + 1) / (n - k - 1);
}

// From when on the sensor had settled; all pairs where nobody noted the time.
std::vector<ReadingPair> settled_pairs(const std::vector<ReadingPair>& pairs,
                                       double settled_k_per_s) {
  const bool timed = std::all_of(pairs.begin(), pairs.end(),
                                 [](const ReadingPair& pair) { return pair.time_s.has_value(); });
  if (!timed) return pairs;
  // Both: a reference that lags behind a sensor that stands is still wrong.
  SettlingTest sensor(settled_k_per_s);
  SettlingTest reference(settled_k_per_s);
  std::vector<ReadingPair> settled;
  for (const ReadingPair& pair : pairs) {
    const auto time_ns = static_cast<std::int64_t>(*pair.time_s * 1e9);
    sensor.add(time_ns, pair.sensor_c);
    reference.add(time_ns, pair.reference_c);
    if (sensor.settled() && reference.settled()) settled.push_back(pair);
  }
  return settled;
}

struct Columns {
  std::vector<double> sensor;
  std::vector<double> reference;
  std::vector<double> difference;

  void add(double s, double r) {
    sensor.push_back(s);
    reference.push_back(r);
    difference.push_back(r - s);
  }
};

// Without the outliers. Where the pairs span enough for a gain, a reading is far off when it is far
// off the line that most of them lie on.
Columns without_outliers(const Columns& all, bool may_have_gain, double least) {
  std::vector<double> residuals = all.difference;
  if (may_have_gain) {
    const double slope = theil_sen_slope(all.sensor, all.difference);
    for (std::size_t i = 0; i < residuals.size(); ++i) residuals[i] -= slope * all.sensor[i];
  }
  const std::vector<bool> outlier =
      hampel_outliers(residuals, least, outlier_width(residuals.size()));
  Columns kept;
  for (std::size_t i = 0; i < outlier.size(); ++i) {
    if (!outlier[i]) kept.add(all.sensor[i], all.reference[i]);
  }
  return kept;
}

}  // namespace

double ReferenceAccuracy::at(double reference_c) const {
  return std::max(kelvin, std::abs(reference_c) * percent / 100);
}

double Emissivity::error_at(double reference_c) const {
  const double body = reference_c + kelvin_at_0_c;
  const double around = surroundings_c + kelvin_at_0_c;
  const double slope = (std::pow(body, 4) - std::pow(around, 4)) / (4 * std::pow(body, 3) * value);
  return std::abs(slope) * tolerance;
}

bool Calibration::smaller_than_its_uncertainty() const {
  return std::abs(correction_k) <= expanded_k;
}

double resolution_of(const std::vector<double>& values) {
  std::int64_t step = 0;
  for (const double value : values) {
    const auto apart = static_cast<std::int64_t>(std::llround((value - values.front()) * 1000));
    step = std::gcd(step, apart);
  }
  return static_cast<double>(step) / 1000;
}

Result<Calibration> calibrate(const std::vector<ReadingPair>& pairs,
                              const CalibrationSettings& settings) {
  Calibration result{.pairs = pairs.size()};
  const std::vector<ReadingPair> settled = settled_pairs(pairs, settings.settled_k_per_s);
  result.unsettled = pairs.size() - settled.size();
  if (settled.size() < least_pairs) {
    return fail(ErrorKind::bad_file,
                fmt::format("{} pairs of readings, {} of them settled; a calibration needs {}",
                            pairs.size(), settled.size(), least_pairs),
                "", "let the temperature settle, then take more readings");
  }
  Columns all;
  for (const ReadingPair& pair : settled) all.add(pair.sensor_c, pair.reference_c);
  const double sensor_step = resolution_of(all.sensor);
  const double reference_step = settings.reference_resolution_k > 0
                                    ? settings.reference_resolution_k
                                    : resolution_of(all.reference);
  const bool spans =
      middle_span(all.sensor) >= least_span_k / 2 && settled.size() >= least_pairs_for_gain;
  const Columns kept =
      without_outliers(all, spans,
                       std::max({2 * sensor_step, 2 * reference_step,
                                 negligible_share * settings.accuracy.at(median(all.reference))}));
  result.outliers = settled.size() - kept.sensor.size();
  if (kept.sensor.size() < least_pairs) {
    return fail(ErrorKind::bad_file,
                fmt::format("{} of {} pairs are outliers: the readings do not agree among "
                            "themselves",
                            result.outliers, settled.size()),
                "", "fix the reference's probe in its place, then take the readings again");
  }

  const auto count = static_cast<double>(kept.sensor.size());
  double mean = 0;
  for (const double difference : kept.difference) mean += difference / count;
  double rss = 0;
  for (const double difference : kept.difference) rss += (difference - mean) * (difference - mean);
  result.scatter_k = std::sqrt(rss / (count - 1));
  result.at_c = median(kept.sensor);
  result.correction_k = mean;
  double u_scatter = result.scatter_k / std::sqrt(count);
  double degrees = count - 1;

  const auto [coolest, hottest] = std::minmax_element(kept.sensor.begin(), kept.sensor.end());
  const auto line = fit_line(kept.sensor, kept.difference);
  if (spans && line && kept.sensor.size() >= least_pairs_for_gain &&
      *hottest - *coolest >= least_span_k &&
      akaike_corrected(line->rss, line->count, 2) + criterion_margin <=
          akaike_corrected(rss, line->count, 1)) {
    result.with_gain = true;
    result.at_c = settings.wanted_at_c.value_or(line->mean_x);
    result.correction_k = line->at(result.at_c);
    result.gain = 1 + line->slope;
    result.scatter_k = line->scatter;
    u_scatter = line->u_at(result.at_c);
    degrees = count - 2;
  }

  const double reference_c = result.at_c + result.correction_k;
  result.budget = {{"scatter of the readings", u_scatter * std::sqrt(degrees / (degrees - 2))},
                   {"resolution of the sensor", rectangular(sensor_step / 2)},
                   {"resolution of the reference", rectangular(reference_step / 2)},
                   {"accuracy of the reference", rectangular(settings.accuracy.at(reference_c))}};
  if (settings.emissivity) {
    result.budget.push_back(
        {"emissivity", rectangular(settings.emissivity->error_at(reference_c))});
  }
  double variance = 0;
  for (const UncertaintyPart& part : result.budget) variance += part.u_k * part.u_k;
  result.expanded_k = coverage_factor * std::sqrt(variance);
  return result;
}

}  // namespace assay::probes
