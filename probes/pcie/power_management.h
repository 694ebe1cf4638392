// The PCI Power Management capability (PCI Bus Power Management Interface 1.2, section 3.2).
#pragma once

#include <cstdint>
#include <optional>

#include "probes/pcie/config_reader.h"

namespace assay::probes {

struct PowerManagement {
  std::uint16_t pmc = 0;
  std::uint16_t pmcsr = 0;

  unsigned version() const { return pmc & 0x7; }
  // 0..3; 3 is D3hot, a function in D3cold does not answer.
  unsigned d_state() const { return pmcsr & 0x3; }
};

inline std::optional<PowerManagement> decode_power_management(const ConfigReader& config,
                                                              std::size_t at) {
  if (!config.has(at, 6)) return std::nullopt;
  return PowerManagement{.pmc = config.u16(at + 2), .pmcsr = config.u16(at + 4)};
}

}  // namespace assay::probes
