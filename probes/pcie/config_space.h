// A PCI function's configuration space, decoded from its bytes (PCI Express Base 5.0, section 7.5).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "probes/pcie/capability_list.h"
#include "probes/pcie/extended_capabilities.h"
#include "probes/pcie/pci_express.h"
#include "probes/pcie/power_management.h"

namespace assay::probes {

struct PciFunction {
  std::string address;  // "0000:01:00.0"
  std::uint16_t vendor = 0;
  std::uint16_t device = 0;
  std::uint32_t class_code = 0;  // base class and subclass: 0x1200
  std::uint8_t revision = 0;
  bool is_bridge = false;
  std::uint8_t secondary_bus = 0;  // of a bridge
  std::uint8_t subordinate_bus = 0;

  std::size_t bytes_read = 0;
  CapabilityList capabilities;
  CapabilityList extended_list;  // of a function with a PCI Express capability
  std::optional<PowerManagement> power;
  std::optional<PciExpress> express;  // absent: none (nothing to judge), unless `cut`
  ExtendedCapabilities extended;
  // The bytes end before the capability list does: without root the kernel shows 64.
  bool cut = false;

  const Link* link() const { return express && express->link ? &*express->link : nullptr; }
  const Slot* slot() const { return express && express->slot ? &*express->slot : nullptr; }
};

// Bytes that are no configuration space (under 64, or vendor 0xFFFF: nobody answers) give nothing.
std::optional<PciFunction> decode_config_space(std::span<const std::uint8_t> bytes,
                                               std::string address);

}  // namespace assay::probes
