// Faults that a virtual board can have, one broken thing each.
#pragma once

#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace assay::station {

enum class Fault {
  fw_old,
  fw_silent,
  fw_garbage,
  power_cut,
  serial_mismatch,
  mem_stuck,
  mem_coupling,
  mem_half,
  pcie_x1,
  pcie_gen1,
  thermal_gap,
  thermal_drift,
  fragmented
};

struct FaultInfo {
  Fault fault;
  std::string_view name;  // "fw-old"
  std::string_view help;
};

std::span<const FaultInfo> fault_catalog();

using Faults = std::set<Fault>;

// Errors: usage, with the names there are.
Result<Faults> parse_faults(const std::vector<std::string>& names);

}  // namespace assay::station
