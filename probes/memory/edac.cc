#include "probes/memory/edac.h"

#include <string>

namespace assay::probes {

std::optional<EdacCounts> read_edac(const Machine& machine) {
  const std::string folder = "/sys/devices/system/edac/mc";
  const auto entries = machine.list(folder);
  if (!entries) return std::nullopt;
  std::optional<EdacCounts> sum;
  for (const std::string& entry : *entries) {
    if (!entry.starts_with("mc") || entry.size() == 2) continue;
    const auto corrected = machine.read_integer(folder + "/" + entry + "/ce_count");
    const auto uncorrected = machine.read_integer(folder + "/" + entry + "/ue_count");
    if (!corrected || !uncorrected || *corrected < 0 || *uncorrected < 0) continue;
    if (!sum) sum.emplace();
    sum->corrected += static_cast<std::uint64_t>(*corrected);
    sum->uncorrected += static_cast<std::uint64_t>(*uncorrected);
  }
  return sum;
}

}  // namespace assay::probes
