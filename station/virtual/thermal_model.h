// Heat of a virtual board: core -> (thermal paste, perhaps a gap) -> spreader -> air. The sensor
// sits on the near side of the gap: with one, the core is hotter than the sensor reads.
#pragma once

#include <cstdint>

#include "station/virtual/virtual_spec.h"

namespace assay::station {

class ThermalModel {
 public:
  ThermalModel(const VirtualSpec& spec, bool gap);

  void advance(double seconds, double power_w);
  double core_c() const { return core_c_; }
  // What an ideal sensor reads.
  double sensor_c() const;

 private:
  double ambient_c_;
  double paste_k_per_w_;
  double gap_k_per_w_;
  double air_k_per_w_;
  double core_time_s_;
  double spreader_time_s_;
  double spreader_c_;
  double core_c_;
};

}  // namespace assay::station
