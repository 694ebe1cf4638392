#include "probes/thermal/thermal_fit.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

namespace assay::probes {
namespace {

constexpr std::size_t least_samples = 20;
constexpr double least_rise_k = 5;
constexpr double least_time_constants = 2;
constexpr double samples_in_a_time_constant = 12;
constexpr double most_relative_uncertainty = 0.1;

// A small symmetric system by Gaussian elimination with pivoting; also its inverse.
template <std::size_t N>
struct NormalEquations {
  std::array<std::array<double, N>, N> a = {};
  std::array<double, N> b = {};

  void add(const std::array<double, N>& row, double y) {
    for (std::size_t i = 0; i < N; ++i) {
      for (std::size_t j = 0; j < N; ++j) a[i][j] += row[i] * row[j];
      b[i] += row[i] * y;
    }
  }

  // False for a system that does not tell its unknowns.
  bool solve(std::array<double, N>& x, std::array<std::array<double, N>, N>& inverse) const {
    auto left = a;
    inverse = {};
    for (std::size_t i = 0; i < N; ++i) inverse[i][i] = 1;
    for (std::size_t column = 0; column < N; ++column) {
      std::size_t pivot = column;
      for (std::size_t row = column + 1; row < N; ++row) {
        if (std::abs(left[row][column]) > std::abs(left[pivot][column])) pivot = row;
      }
      if (std::abs(left[pivot][column]) <= 1e-12 * std::abs(a[column][column]) ||
          left[pivot][column] == 0) {
        return false;
      }
      std::swap(left[pivot], left[column]);
      std::swap(inverse[pivot], inverse[column]);
      const double scale = 1 / left[column][column];
      for (std::size_t j = 0; j < N; ++j) {
        left[column][j] *= scale;
        inverse[column][j] *= scale;
      }
      for (std::size_t row = 0; row < N; ++row) {
        if (row == column) continue;
        const double factor = left[row][column];
        for (std::size_t j = 0; j < N; ++j) {
          left[row][j] -= factor * left[column][j];
          inverse[row][j] -= factor * inverse[column][j];
        }
      }
    }
    for (std::size_t i = 0; i < N; ++i) {
      x[i] = 0;
      for (std::size_t j = 0; j < N; ++j) x[i] += inverse[i][j] * b[j];
    }
    return true;
  }
};

// What the model makes of the power for one time constant: the filtered power and what is left of
// the initial temperature, at each sample.
struct Response {
  std::vector<double> filtered;
  std::vector<double> initial;
};

Response respond(std::span<const ThermalSample> samples, double time_s) {
  Response response;
  response.filtered.reserve(samples.size());
  response.initial.reserve(samples.size());
  double filtered = samples[0].power;
  for (std::size_t i = 0; i < samples.size(); ++i) {
    if (i > 0) {
      const double keeps = std::exp(-(samples[i].time_s - samples[i - 1].time_s) / time_s);
      const double power = (samples[i].power + samples[i - 1].power) / 2;
      filtered = filtered * keeps + power * (1 - keeps);
    }
    response.filtered.push_back(filtered);
    response.initial.push_back(std::exp(-(samples[i].time_s - samples[0].time_s) / time_s));
  }
  return response;
}

struct LinearPart {
  double base = 0;
  double slow = 0;
  double contact = 0;
  double initial = 0;
  double rss = std::numeric_limits<double>::infinity();
};

// Weight of "the initial state is that of its power": beyond any number of samples.
constexpr double certain = 1e6;

LinearPart fit_linear_part(std::span<const ThermalSample> samples, bool starts_settled,
                           double time_s) {
  const Response response = respond(samples, time_s);
  NormalEquations<4> equations;
  for (std::size_t i = 0; i < samples.size(); ++i) {
    equations.add({1, response.filtered[i], samples[i].power, response.initial[i]}, samples[i].c);
  }
  if (starts_settled) equations.add({0, 0, 0, certain}, 0);
  std::array<double, 4> x = {};
  std::array<std::array<double, 4>, 4> unused = {};
  LinearPart part;
  if (!equations.solve(x, unused)) return part;
  part = {x[0], x[1], x[2], x[3], 0};
  for (std::size_t i = 0; i < samples.size(); ++i) {
    const double left = samples[i].c - x[0] - x[1] * response.filtered[i] -
                        x[2] * samples[i].power - x[3] * response.initial[i];
    part.rss += left * left;
  }
  return part;
}

// The time constant of the least residual: a coarse search, for there may be several minima, then a
// golden section in the logarithm.
double best_time_constant(std::span<const ThermalSample> samples, bool starts_settled, double least,
                          double most) {
  constexpr int steps = 48;
  const double ratio = std::pow(most / least, 1.0 / steps);
  const auto residual = [&](double time_s) {
    return fit_linear_part(samples, starts_settled, time_s).rss;
  };
  double best = least;
  double best_rss = std::numeric_limits<double>::infinity();
  for (int i = 0; i <= steps; ++i) {
    const double time_s = least * std::pow(ratio, i);
    const double rss = residual(time_s);
    if (rss < best_rss) {
      best_rss = rss;
      best = time_s;
    }
  }
  double low = std::log(best / ratio);
  double high = std::log(best * ratio);
  constexpr double section = 0.6180339887498949;
  for (int i = 0; i < 24; ++i) {
    const double a = high - section * (high - low);
    const double b = low + section * (high - low);
    if (residual(std::exp(a)) < residual(std::exp(b))) {
      high = b;
    } else {
      low = a;
    }
  }
  return std::exp((low + high) / 2);
}

// Standard uncertainties of base, resistance, time constant, by the model's derivatives there.
bool find_uncertainties(std::span<const ThermalSample> samples, bool starts_settled,
                        const LinearPart& part, ThermalFit& fit) {
  const double step = fit.time_s * 1e-4;
  const Response here = respond(samples, fit.time_s);
  const Response beside = respond(samples, fit.time_s + step);
  NormalEquations<5> equations;
  double neighbours = 0;
  double before = 0;
  for (std::size_t i = 0; i < samples.size(); ++i) {
    const double by_time = (part.slow * (beside.filtered[i] - here.filtered[i]) +
                            part.initial * (beside.initial[i] - here.initial[i])) /
                           step;
    equations.add({1, here.filtered[i], samples[i].power, by_time, here.initial[i]}, 0);
    const double left = samples[i].c - part.base - part.slow * here.filtered[i] -
                        part.contact * samples[i].power - part.initial * here.initial[i];
    neighbours += left * before;
    before = left;
  }
  if (starts_settled) equations.add({0, 0, 0, 0, certain}, 0);
  std::array<double, 5> unused = {};
  std::array<std::array<double, 5>, 5> inverse = {};
  if (!equations.solve(unused, inverse)) return false;
  const double correlation = part.rss > 0 ? std::clamp(neighbours / part.rss, 0.0, 0.99) : 0;
  const double variance =
      part.rss / static_cast<double>(samples.size() - 5) * (1 + correlation) / (1 - correlation);
  fit.u_base_c = std::sqrt(variance * std::abs(inverse[0][0]));
  // Of the sum of two that hang together.
  fit.u_resistance =
      std::sqrt(variance * std::abs(inverse[1][1] + inverse[2][2] + 2 * inverse[1][2]));
  fit.u_time_s = std::sqrt(variance * std::abs(inverse[3][3]));
  return true;
}

}  // namespace

std::optional<ThermalFit> fit_first_order(std::span<const ThermalSample> samples,
                                          bool starts_settled) {
  if (samples.size() < least_samples) return std::nullopt;
  const double watched = samples.back().time_s - samples.front().time_s;
  const auto [weakest, strongest] = std::minmax_element(
      samples.begin(), samples.end(),
      [](const ThermalSample& a, const ThermalSample& b) { return a.power < b.power; });
  const double span = strongest->power - weakest->power;
  if (!(watched > 0) || !(span > 0)) return std::nullopt;
  const double interval = watched / static_cast<double>(samples.size() - 1);
  const double longest = watched / least_time_constants;
  if (longest <= interval) return std::nullopt;
  ThermalFit fit{.count = samples.size(), .most_power = strongest->power};
  // A little beyond what counts, so that a minimum at the end shows itself as one.
  fit.time_s = best_time_constant(samples, starts_settled, interval / 2, longest * 2);
  const LinearPart part = fit_linear_part(samples, starts_settled, fit.time_s);
  fit.base_c = part.base;
  fit.resistance = part.slow + part.contact;
  fit.contact = part.contact;
  fit.rms_k = std::sqrt(part.rss / static_cast<double>(samples.size()));
  if (!find_uncertainties(samples, starts_settled, part, fit)) return std::nullopt;
  const bool told = fit.time_s <= longest && interval * samples_in_a_time_constant <= fit.time_s &&
                    fit.resistance * span >= least_rise_k &&
                    fit.u_resistance <= most_relative_uncertainty * fit.resistance &&
                    fit.u_time_s <= most_relative_uncertainty * fit.time_s;
  return told ? std::optional(fit) : std::nullopt;
}

void ThermalCourse::add(const ThermalSample& sample) {
  pending_power_ += sample.power;
  if (++pending_ < stride_ && !samples_.empty()) return;
  ThermalSample kept = sample;
  kept.power = pending_power_ / static_cast<double>(pending_);
  samples_.push_back(kept);
  pending_ = 0;
  pending_power_ = 0;
  if (samples_.size() < most_samples) return;
  for (std::size_t i = 0; i < most_samples / 2; ++i) {
    ThermalSample joined = samples_[2 * i + 1];
    joined.power = (joined.power + samples_[2 * i].power) / 2;
    samples_[i] = joined;
  }
  samples_.resize(most_samples / 2);
  stride_ *= 2;
}

}  // namespace assay::probes
