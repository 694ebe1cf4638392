#include "probes/thermal/robust_statistics.h"

#include <algorithm>
#include <cmath>

namespace assay::probes {

double median(std::span<const double> values) {
  if (values.empty()) return 0;
  std::vector<double> sorted(values.begin(), values.end());
  const auto middle = sorted.begin() + static_cast<std::ptrdiff_t>(sorted.size() / 2);
  std::nth_element(sorted.begin(), middle, sorted.end());
  if (sorted.size() % 2 == 1) return *middle;
  return (*middle + *std::max_element(sorted.begin(), middle)) / 2;
}

double scaled_mad(std::span<const double> values) {
  const double center = median(values);
  std::vector<double> distances;
  distances.reserve(values.size());
  for (const double v : values) distances.push_back(std::abs(v - center));
  return 1.4826 * median(distances);
}

std::vector<bool> hampel_outliers(std::span<const double> values, double least, double width) {
  const double center = median(values);
  const double bound = std::max(least, width * scaled_mad(values));
  std::vector<bool> outlier;
  outlier.reserve(values.size());
  for (const double v : values) outlier.push_back(std::abs(v - center) > bound);
  return outlier;
}

double theil_sen_slope(std::span<const double> x, std::span<const double> y) {
  std::vector<double> slopes;
  for (std::size_t i = 0; i < x.size(); ++i) {
    for (std::size_t j = i + 1; j < x.size(); ++j) {
      if (x[j] != x[i]) slopes.push_back((y[j] - y[i]) / (x[j] - x[i]));
    }
  }
  return median(slopes);
}

double LineFit::u_at(double x) const {
  return std::hypot(u_mean, (x - mean_x) * u_slope);
}

std::optional<LineFit> fit_line(std::span<const double> x, std::span<const double> y) {
  const std::size_t n = std::min(x.size(), y.size());
  if (n < 3) return std::nullopt;
  LineFit fit{.count = n};
  const auto count = static_cast<double>(n);
  for (std::size_t i = 0; i < n; ++i) {
    fit.mean_x += x[i] / count;
    fit.mean_y += y[i] / count;
  }
  double sxy = 0;
  for (std::size_t i = 0; i < n; ++i) {
    fit.sxx += (x[i] - fit.mean_x) * (x[i] - fit.mean_x);
    sxy += (x[i] - fit.mean_x) * (y[i] - fit.mean_y);
  }
  if (!(fit.sxx > 0)) return std::nullopt;
  fit.slope = sxy / fit.sxx;
  for (std::size_t i = 0; i < n; ++i) {
    const double residual = y[i] - fit.at(x[i]);
    fit.rss += residual * residual;
  }
  fit.scatter = std::sqrt(fit.rss / (count - 2));
  fit.u_mean = fit.scatter / std::sqrt(count);
  fit.u_slope = fit.scatter / std::sqrt(fit.sxx);
  return fit;
}

}  // namespace assay::probes
