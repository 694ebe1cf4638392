// What a virtual board is made of (boards/virtual/*.json, schema assay/virtual-board/1).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/semver.h"
#include "probes/framework/board_profile.h"
#include "station/config/located_json.h"

namespace assay::station {

struct VirtualPciFunction {
  enum class Kind { host, root_port, endpoint };
  std::string address;
  std::uint16_t vendor = 0;
  std::uint16_t device = 0;
  std::uint16_t class_code = 0;
  Kind kind = Kind::host;
  std::uint8_t secondary_bus = 0;  // of a root port
  double max_speed_gts = 0;
  int max_width = 0;
  double speed_gts = 0;
  int width = 0;
  int slot_power_w = 0;  // of a root port
};

struct VirtualSpec {
  std::string board;  // the profile that it stands for
  std::string serial;
  std::string kernel;  // /proc/version
  std::string firmware_version;
  std::string old_firmware_version;
  std::uint64_t memory_bytes = 0;
  int largest_order = 0;
  std::uint64_t pool_bytes = 0;
  std::uint64_t pool_driver_bytes = 0;  // the driver's own tables in the pool
  int stuck_pages = 0;                  // of the fault "fragmented"
  // A network of two heat nodes: core -> spreader -> air. The time constants are shorter than a
  // real board's, so that a short plan reaches the steady state.
  std::int64_t ambient_mc = 0;
  double idle_w = 0;
  double peak_w = 0;
  double core_to_spreader_k_per_w = 0;
  double spreader_to_air_k_per_w = 0;
  double gap_k_per_w = 0;  // of the fault "thermal-gap"
  double core_time_s = 0;
  double spreader_time_s = 0;
  std::int64_t sensor_noise_mc = 0;
  // Of the fault "thermal-drift", and of a firmware before the one that corrects it.
  std::int64_t sensor_drift_mc = 0;
  SemanticVersion drift_corrected_since;
  // What a good one of these shows; the profile's figures are of a board that takes its time.
  std::optional<probes::GoldenThermal> golden;
  std::vector<VirtualPciFunction> pci;
};

// Errors: bad_file with file:line:column.
Result<VirtualSpec> parse_virtual_spec(const LocatedJson& file);

}  // namespace assay::station
