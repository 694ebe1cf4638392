// PCI configuration space, decoded from its bytes. Register offsets and fields: PCI Express Base
// Specification 5.0, section 7.5 (7.5.1 header, 7.5.3 PCI Express capability).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

namespace assay::probes {

enum class PortType {  // PCI Express Capabilities register, Device/Port Type
  endpoint = 0x0,
  legacy_endpoint = 0x1,
  root_port = 0x4,
  upstream_port = 0x5,
  downstream_port = 0x6,
  pcie_to_pci_bridge = 0x7,
  pci_to_pcie_bridge = 0x8,
  integrated_endpoint = 0x9,
  event_collector = 0xA,
};

struct Link {
  std::uint32_t lnkcap = 0;
  std::uint16_t lnksta = 0;
  double max_speed_gts = 0;  // 0: a code that no specification defines
  int max_width = 0;         // lanes
  double speed_gts = 0;      // negotiated, from LnkSta
  int width = 0;
};

struct PciFunction {
  std::string address;  // "0000:01:00.0"
  std::uint16_t vendor = 0;
  std::uint16_t device = 0;
  std::uint32_t class_code = 0;  // base class and subclass: 0x1200
  bool is_bridge = false;
  std::uint8_t secondary_bus = 0;  // of a bridge
  // Absent: no PCI Express capability (nothing to judge), unless `cut`.
  std::optional<PortType> port_type;
  std::optional<Link> link;                  // absent also for parts without a link
  std::optional<double> slot_power_limit_w;  // SltCap of a port with a slot; not when reserved
  // The bytes end before the capability list does: without root the kernel shows 64.
  bool cut = false;
};

// Errors are in the result: bytes that are no configuration space (under 64, or vendor 0xFFFF)
// give nothing.
std::optional<PciFunction> decode_config_space(std::span<const std::uint8_t> bytes,
                                               std::string address);

// Bytes that a lane of this speed carries one way, GB/s: 8b/10b to 5 GT/s, 128b/130b to 32 GT/s,
// above it 1b/1b with FLITs (236 of 256 bytes of a FLIT are the transaction layer's).
double lane_bandwidth_gbps(double speed_gts);

// Link speed of a LnkCap/LnkSta speed code (vector bit + 1), 0 when undefined.
double speed_of_code(unsigned code);

}  // namespace assay::probes
