// Where a function's capabilities are: the list of the first 256 bytes (PCI Express Base 5.0,
// 7.5.1.1.11) and that of extended configuration space (7.6.3).
#pragma once

#include <cstdint>
#include <vector>

#include "probes/pcie/config_reader.h"

namespace assay::probes {

namespace capability_id {
inline constexpr std::uint16_t power_management = 0x01;
inline constexpr std::uint16_t pci_express = 0x10;
}  // namespace capability_id

namespace extended_capability_id {
inline constexpr std::uint16_t advanced_error_reporting = 0x0001;
inline constexpr std::uint16_t secondary_pci_express = 0x0019;
inline constexpr std::uint16_t physical_layer_16gts = 0x0026;
inline constexpr std::uint16_t lane_margining = 0x0027;
}  // namespace extended_capability_id

struct Capability {
  std::uint16_t id = 0;
  std::uint8_t version = 0;  // of an extended one; 0 otherwise
  std::size_t at = 0;
};

struct CapabilityList {
  std::vector<Capability> entries;  // in the order of the list
  bool cut = false;                 // it goes on behind the bytes that could be read
  bool broken = false;              // it comes back to an entry that it has been to

  // The first one of that id. Null: none.
  const Capability* find(std::uint16_t id) const;
};

CapabilityList standard_capabilities(const ConfigReader& config);

// `cut` when fewer than 4096 bytes could be read and the list was not seen to its end; with 256 or
// less nothing is known of it.
CapabilityList extended_capabilities(const ConfigReader& config);

}  // namespace assay::probes
