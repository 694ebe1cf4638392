#include "probes/catalog.h"

#include <algorithm>
#include <vector>

#include "probes/firmware/firmware_dfu.h"
#include "probes/firmware/firmware_flash.h"
#include "probes/firmware/firmware_query.h"
#include "probes/fragmentation/fragmentation.h"
#include "probes/log/log_diagnose.h"
#include "probes/memory/memory_test.h"
#include "probes/memory/row_hammer.h"
#include "probes/pcie/pcie_link.h"
#include "probes/thermal/thermal.h"
#include "probes/workload/workload_generate.h"

namespace assay::probes {

std::span<const Probe> catalog() {
  static const std::vector<Probe> probes = {
      firmware_query_probe(),    firmware_flash_probe(),    firmware_dfu_probe(),
      memory_test_probe(),       row_hammer_probe(),        pcie_link_probe(),
      pcie_aer_probe(),          thermal_read_probe(),      thermal_sample_probe(),
      thermal_watch_probe(),     thermal_calibrate_probe(), fragmentation_probe(),
      workload_generate_probe(), log_diagnose_probe(),
  };
  return probes;
}

const Probe* find_probe(std::string_view name) {
  const auto all = catalog();
  const auto found =
      std::find_if(all.begin(), all.end(), [&](const Probe& p) { return p.name == name; });
  return found == all.end() ? nullptr : &*found;
}

}  // namespace assay::probes
