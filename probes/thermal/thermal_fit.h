// A first-order thermal model fitted to a temperature and the power that made it. Pure functions.
//
//   T = base + contact * power + S,   time_s * dS/dt = slow * power - S
//
// base is the temperature without power, resistance is contact + slow: what heats the cooler comes
// with its time constant, what drops between core and cooler comes at once.
//
// The lumped model of any text on heat transfer (a heat capacity behind one resistance). For each
// time constant the power is filtered as the model does it, and what is left (base, both
// resistances, initial state) is linear least squares: separable least squares after Golub and
// Pereyra, SIAM J. Numer. Anal. 10 (1973), in one dimension. The output is fitted, so that noise of
// the sensor does not pull the figures, and any course of the power will do that moves it enough.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

namespace assay::probes {

struct ThermalSample {
  double time_s = 0;  // grows
  double c = 0;
  double power = 0;  // watts; or the load, 0 to 1, where power is not measured
};

struct ThermalFit {
  std::size_t count = 0;
  double resistance = 0;  // kelvin for a watt; for full load where there is no power
  double contact = 0;     // the part of it that comes at once
  double time_s = 0;      // time constant
  double base_c = 0;      // temperature without power
  double u_resistance = 0;
  double u_time_s = 0;
  double u_base_c = 0;  // standard uncertainties
  double rms_k = 0;     // of what the model leaves over
  double most_power = 0;

  // Where the temperature ends up when the power stays.
  double steady_c(double power) const { return base_c + resistance * power; }
};

// None when the samples do not tell the figures: fewer than 20, a power that hardly moves, less
// than two time constants watched, a rise of under 5 K, or figures that are uncertain by more than
// 10 %.
//
// `starts_settled`: at the first sample the temperature was steady under its power. Who knows that
// should say so; else the initial state is one more unknown.
std::optional<ThermalFit> fit_first_order(std::span<const ThermalSample> samples,
                                          bool starts_settled);

// Keeps samples of a course of any length in bounded memory: when it is full, every second one goes
// and from then on only every second, fourth, ... is taken. The power of those left out is averaged
// into the next one that is kept.
class ThermalCourse {
 public:
  static constexpr std::size_t most_samples = 65'536;

  void add(const ThermalSample& sample);
  const std::vector<ThermalSample>& samples() const { return samples_; }

 private:
  std::vector<ThermalSample> samples_;
  std::size_t stride_ = 1;
  std::size_t pending_ = 0;
  double pending_power_ = 0;
};

}  // namespace assay::probes
