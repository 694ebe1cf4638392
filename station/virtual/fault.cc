#include "station/virtual/fault.h"

#include <algorithm>
#include <array>

namespace assay::station {

std::span<const FaultInfo> fault_catalog() {
  static constexpr std::array<FaultInfo, 13> catalog = {{
      {Fault::fw_old, "fw-old", "the firmware that the board was first shipped with"},
      {Fault::fw_silent, "fw-silent", "nothing comes from the UART"},
      {Fault::fw_garbage, "fw-garbage", "bits flip on the UART"},
      {Fault::power_cut, "power-cut",
       "old firmware, and the power fails in the middle of its update"},
      {Fault::serial_mismatch, "serial-mismatch", "another board than the one that was scanned"},
      {Fault::mem_stuck, "mem-stuck", "one bit of RAM is stuck"},
      {Fault::mem_coupling, "mem-coupling", "a bit of RAM flips when a neighbour is set"},
      {Fault::mem_half, "mem-half", "half of the memory chips are not there"},
      {Fault::pcie_x1, "pcie-x1", "the NPU's link trains with one lane, in a slot of 25 W"},
      {Fault::pcie_gen1, "pcie-gen1", "the NPU's link trains at 2.5 GT/s, in a slot of 25 W"},
      {Fault::thermal_gap, "thermal-gap", "a gap under the heat spreader"},
      {Fault::thermal_drift, "thermal-drift", "the temperature sensor reads too little"},
      {Fault::fragmented, "fragmented", "pinned pages that defragmenting cannot move"},
  }};
  return catalog;
}

Result<Faults> parse_faults(const std::vector<std::string>& names) {
  Faults faults;
  const auto catalog = fault_catalog();
  for (const std::string& name : names) {
    const auto found = std::find_if(catalog.begin(), catalog.end(),
                                    [&](const FaultInfo& f) { return f.name == name; });
    if (found == catalog.end()) {
      std::string known;
      for (const FaultInfo& f : catalog) known += (known.empty() ? "" : ", ") + std::string(f.name);
      return fail(ErrorKind::usage, "no fault \"" + name + "\"", "--fault", "there are: " + known);
    }
    faults.insert(found->fault);
  }
  return faults;
}

}  // namespace assay::station
