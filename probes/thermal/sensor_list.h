// All that a machine has of thermal sensors and of means to cool: the kernel's thermal zones with
// their trip points, its cooling devices, and the temperatures, fans and powers of hwmon.
//
// Sources: Documentation/driver-api/thermal/sysfs-api.rst, Documentation/hwmon/sysfs-interface.rst.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/machine.h"

namespace assay::probes {

struct TripPoint {
  int number = 0;
  std::string type;  // "passive", "active", "hot", "critical"
  std::int64_t mc = 0;
};

struct ThermalZone {
  std::string name;  // "thermal_zone0"
  std::string type;  // "npu-thermal"; may be empty
  std::string mode;  // "enabled", "disabled"; may be empty
  std::vector<TripPoint> trips;

  // "thermal_zone0 npu-thermal"
  std::string label() const { return type.empty() ? name : name + " " + type; }
  std::string file() const;  // of its temperature
};

struct HwmonSensor {
  enum class Kind { temperature, fan, power };
  Kind kind = Kind::temperature;
  std::string file;   // "/sys/class/hwmon/hwmon0/temp1_input"
  std::string label;  // "hwmon0 nvme temp1 Composite"
  std::optional<std::int64_t> critical_mc;
  bool faulty = false;  // the chip says so: temp1_fault, fan1_fault
};

struct CoolingDevice {
  std::string name;  // "cooling_device0"
  std::string type;  // "pwm-fan"
  std::int64_t state = 0;
  std::int64_t most = 0;
};

struct ThermalInventory {
  std::vector<ThermalZone> zones;
  std::vector<HwmonSensor> sensors;
  std::vector<CoolingDevice> cooling;

  bool empty() const { return zones.empty() && sensors.empty() && cooling.empty(); }
};

// Zones, sensors and devices in the order of their numbers. What cannot be read of an entry is
// left out of it; an entry is listed whether its sensor answers or not.
ThermalInventory thermal_inventory(const Machine& machine);

// Power that the machine or board draws, in watts: the sum of hwmon's powerN_input (or
// powerN_average), which are micro-watts. None where nothing gives it.
std::optional<double> read_power_w(const Machine& machine, const std::vector<HwmonSensor>& sensors);

}  // namespace assay::probes
