// Whether a temperature has settled: the slope of its last readings, by least squares, is within a
// bound even at the far end of the slope's own uncertainty. A window that is too short, too noisy
// or of too coarse a sensor to tell is not settled.
#pragma once

#include <cstdint>
#include <deque>

namespace assay::probes {

class SettlingTest {
 public:
  // `most_k_per_s`: the steepest slope that counts as settled.
  explicit SettlingTest(double most_k_per_s) : most_k_per_s_(most_k_per_s) {}

  // Times are monotonic and grow.
  void add(std::int64_t time_ns, double c);

  // |slope| + 2 standard errors of it is at most the bound.
  bool settled() const { return settled_; }
  double slope_k_per_s() const { return slope_; }
  double u_slope_k_per_s() const { return u_slope_; }
  // Of the readings that the slope is of.
  double mean_c() const { return mean_; }

 private:
  struct Point {
    std::int64_t time_ns;
    double c;
  };
  void judge();

  double most_k_per_s_;
  std::deque<Point> window_;
  double slope_ = 0;
  double u_slope_ = 0;
  double mean_ = 0;
  bool settled_ = false;
};

}  // namespace assay::probes
