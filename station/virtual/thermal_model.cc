#include "station/virtual/thermal_model.h"

#include <cmath>

namespace assay::station {

ThermalModel::ThermalModel(const VirtualSpec& spec, bool gap)
    : ambient_c_(static_cast<double>(spec.ambient_mc) / 1000),
      paste_k_per_w_(spec.core_to_spreader_k_per_w),
      gap_k_per_w_(gap ? spec.gap_k_per_w : 0),
      air_k_per_w_(spec.spreader_to_air_k_per_w),
      core_time_s_(spec.core_time_s),
      spreader_time_s_(spec.spreader_time_s),
      spreader_c_(ambient_c_ + spec.idle_w * air_k_per_w_),
      core_c_(spreader_c_ + spec.idle_w * (paste_k_per_w_ + gap_k_per_w_)) {}

void ThermalModel::advance(double seconds, double power_w) {
  // Each node goes to its steady state exponentially: stable for any step.
  const double spreader_steady = ambient_c_ + power_w * air_k_per_w_;
  spreader_c_ += (spreader_steady - spreader_c_) * (1 - std::exp(-seconds / spreader_time_s_));
  const double core_steady = spreader_c_ + power_w * (paste_k_per_w_ + gap_k_per_w_);
  core_c_ += (core_steady - core_c_) * (1 - std::exp(-seconds / core_time_s_));
}

double ThermalModel::sensor_c() const {
  const double resistance = paste_k_per_w_ + gap_k_per_w_;
  // On the path from core to spreader, behind the gap.
  const double share = resistance == 0 ? 1 : paste_k_per_w_ / resistance;
  return spreader_c_ + (core_c_ - spreader_c_) * share;
}

}  // namespace assay::station
