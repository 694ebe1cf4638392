// The PCI Express capability, decoded (PCI Express Base 5.0, section 7.5.3). Registers are kept as
// they were read; what has a meaning beyond a flag is worked out beside them.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "probes/pcie/config_reader.h"

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
const char* to_text(PortType type);

struct DeviceRegisters {
  std::uint32_t devcap = 0;
  std::uint16_t devctl = 0;
  std::uint16_t devsta = 0;

  // Bytes; 0: a reserved code.
  unsigned max_payload_supported() const;
  unsigned max_payload() const;
  unsigned max_read_request() const;
  // Of an upstream port or endpoint: what the slot above told it (Captured Slot Power Limit).
  std::optional<double> captured_power_limit_w() const;
};

enum class Aspm { none = 0, l0s = 1, l1 = 2, l0s_l1 = 3 };

struct Link {
  std::uint32_t lnkcap = 0;
  std::uint16_t lnkctl = 0;
  std::uint16_t lnksta = 0;
  double max_speed_gts = 0;  // 0: a code that no specification defines
  int max_width = 0;         // lanes
  double speed_gts = 0;      // negotiated, from LnkSta
  int width = 0;
  Aspm aspm_supported = Aspm::none;
  Aspm aspm_enabled = Aspm::none;

  bool training() const { return (lnksta & 1u << 11) != 0; }
  // Data Link Layer Link Active, where the port reports it.
  std::optional<bool> active() const;
  bool disabled() const { return (lnkctl & 1u << 4) != 0; }
  int port_number() const { return static_cast<int>(lnkcap >> 24); }
};

// Since version 2 of the capability.
struct Link2 {
  std::uint32_t lnkcap2 = 0;
  std::uint16_t lnkctl2 = 0;
  std::uint16_t lnksta2 = 0;
  std::vector<double> speeds_gts;  // Supported Link Speeds Vector, rising
  double target_speed_gts = 0;     // 0: undefined

  bool equalization_complete() const { return (lnksta2 & 1u << 1) != 0; }
};

struct Slot {
  std::uint32_t sltcap = 0;
  std::uint16_t sltctl = 0;
  std::uint16_t sltsta = 0;
  std::optional<double> power_limit_w;  // absent: a reserved value
  unsigned number = 0;
};

struct PciExpress {
  unsigned version = 0;
  PortType type = PortType::endpoint;
  std::optional<DeviceRegisters> device;
  std::optional<Link> link;  // absent for parts of the root complex
  std::optional<Link2> link2;
  std::optional<Slot> slot;  // of a port with a slot
  bool cut = false;          // it goes on behind the bytes that could be read
};

// `at`: where the capability begins.
PciExpress decode_pci_express(const ConfigReader& config, std::size_t at);

// GT/s of a speed code as in LnkCap, LnkSta, LnkCtl2; 0 when undefined.
double speed_of_code(unsigned code);

// Bytes that a lane of this speed carries one way, GB/s: 8b/10b to 5 GT/s, 128b/130b to 32 GT/s,
// above it 1b/1b with FLITs (236 of 256 bytes of a FLIT are the transaction layer's).
double lane_bandwidth_gbps(double speed_gts);

}  // namespace assay::probes
