#include "probes/pcie/error_rate.h"

#include <cmath>

namespace assay::probes {
namespace {

constexpr double chance = 0.05;
// Beyond it Wilson and Hilferty's approximation (1931) is right to five digits.
constexpr std::int64_t summed = 1000;
constexpr double normal_quantile_95 = 1.6448536269514722;

// Of `events` or fewer, when `mean` are expected.
double poisson_cdf(std::int64_t events, double mean) {
  double sum = 0;
  for (std::int64_t k = 0; k <= events; ++k) {
    const auto n = static_cast<double>(k);
    sum += std::exp(n * std::log(mean) - mean - std::lgamma(n + 1));
  }
  return sum;
}

}  // namespace

double poisson_upper_bound(std::int64_t events) {
  const double n = static_cast<double>(events) + 1;
  const double approximate =
      n * std::pow(1 - 1 / (9 * n) + normal_quantile_95 / (3 * std::sqrt(n)), 3);
  if (events > summed) return approximate;
  double low = approximate / 2;
  double high = approximate * 2;
  for (int i = 0; i < 60; ++i) {
    const double middle = (low + high) / 2;
    (poisson_cdf(events, middle) > chance ? low : high) = middle;
  }
  return high;
}

}  // namespace assay::probes
