// Statistics of a handful of readings, some of which may be wrong. Pure functions of their input.
//
// Sources: F. R. Hampel, "The influence curve and its role in robust estimation", JASA 69 (1974),
// for the rejection of outliers by median and MAD; 1.4826 makes the MAD of a normal distribution
// its standard deviation. P. K. Sen, JASA 63 (1968), for the slope that outliers do not turn.
// Ordinary least squares with the standard errors of its coefficients: any textbook.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

namespace assay::probes {

// 0 for an empty row.
double median(std::span<const double> values);
// 1.4826 times the median distance from the median: the scatter, whatever outliers there are.
double scaled_mad(std::span<const double> values);

// Which values lie further than `width` scaled MADs from the median, and further than `least`:
// where most values are equal, the MAD is 0 and a step of the resolution is no outlier.
std::vector<bool> hampel_outliers(std::span<const double> values, double least, double width = 3);

// The median of the slopes between all pairs whose x differs; 0 where there is none.
double theil_sen_slope(std::span<const double> x, std::span<const double> y);

// y = mean_y + slope (x - mean_x)
struct LineFit {
  std::size_t count = 0;
  double mean_x = 0;
  double mean_y = 0;
  double slope = 0;
  double sxx = 0;      // sum of squared distances of x from its mean
  double rss = 0;      // residual sum of squares
  double scatter = 0;  // standard deviation of a y about the line
  double u_mean = 0;   // standard error of mean_y
  double u_slope = 0;  // standard error of the slope

  double at(double x) const { return mean_y + slope * (x - mean_x); }
  // Standard error of at(x): grows away from mean_x.
  double u_at(double x) const;
};

// None for fewer than 3 points, or when all x are the same.
std::optional<LineFit> fit_line(std::span<const double> x, std::span<const double> y);

}  // namespace assay::probes
