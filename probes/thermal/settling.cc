#include "probes/thermal/settling.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/clock.h"
#include "probes/thermal/robust_statistics.h"

namespace assay::probes {
namespace {

// A slope of fewer readings than this is anyone's.
constexpr std::size_t least_readings = 6;
constexpr std::int64_t least_window_ns = 2 * ns_per_s;
constexpr std::size_t most_readings = 600;

// The coarsest of the usual steps that all readings are multiples of. A sensor of whole degrees
// that gives the same one for a while says little of its slope.
double step_of(const std::vector<double>& values) {
  for (const int step_mc : {1000, 500, 250, 125, 100, 50, 10}) {
    if (std::all_of(values.begin(), values.end(),
                    [&](double v) { return std::llround(v * 1000) % step_mc == 0; })) {
      return step_mc / 1000.0;
    }
  }
  return 0.001;
}

}  // namespace

void SettlingTest::add(std::int64_t time_ns, double c) {
  window_.push_back({time_ns, c});
  if (window_.size() > most_readings) window_.pop_front();
  judge();
  // Moving for sure: what is older only delays the answer.
  if (!settled_ && std::abs(slope_) - 2 * u_slope_ > most_k_per_s_) {
    const std::size_t newer = std::max(least_readings, window_.size() / 2);
    while (window_.size() > newer) window_.pop_front();
  }
}

void SettlingTest::judge() {
  settled_ = false;
  std::vector<double> times;
  std::vector<double> values;
  for (const Point& point : window_) {
    times.push_back(static_cast<double>(point.time_ns - window_.front().time_ns) / 1e9);
    values.push_back(point.c);
  }
  const auto line = fit_line(times, values);
  if (!line) return;
  slope_ = line->slope;
  // A step is a rectangular distribution of its width (JCGM 100:2008, 4.3.7).
  const double scatter = std::max(line->scatter, step_of(values) / std::sqrt(12.0));
  u_slope_ = scatter / std::sqrt(line->sxx);
  mean_ = line->mean_y;
  settled_ = window_.size() >= least_readings &&
             window_.back().time_ns - window_.front().time_ns >= least_window_ns &&
             std::abs(slope_) + 2 * u_slope_ <= most_k_per_s_;
}

}  // namespace assay::probes
