#include "probes/pcie/pci_express.h"

#include <array>

namespace assay::probes {
namespace {

// Offsets in the capability.
constexpr std::size_t flags_at = 0x02;
constexpr std::size_t devcap_at = 0x04;
constexpr std::size_t devctl_at = 0x08;
constexpr std::size_t devsta_at = 0x0A;
constexpr std::size_t lnkcap_at = 0x0C;
constexpr std::size_t lnkctl_at = 0x10;
constexpr std::size_t lnksta_at = 0x12;
constexpr std::size_t sltcap_at = 0x14;
constexpr std::size_t sltctl_at = 0x18;
constexpr std::size_t sltsta_at = 0x1A;
constexpr std::size_t lnkcap2_at = 0x2C;
constexpr std::size_t lnkctl2_at = 0x30;
constexpr std::size_t lnksta2_at = 0x32;

// 128 bytes shifted; codes 6 and 7 are reserved.
unsigned payload_bytes(unsigned code) {
  return code < 6 ? 128u << code : 0;
}

// Values of a power limit over 0xEF at scale 1.0 are fixed steps; of those that are reserved it is
// known only that they are higher (7.5.3.9).
std::optional<double> power_limit_w(unsigned value, unsigned scale) {
  if (scale == 0 && value > 0xEF) {
    static constexpr std::array<double, 4> steps = {250, 275, 300, 325};
    if (value - 0xF0 >= steps.size()) return std::nullopt;
    return steps[value - 0xF0];
  }
  static constexpr std::array<double, 4> divisors = {1, 10, 100, 1000};
  return value / divisors[scale];
}

Link decode_link(const ConfigReader& config, std::size_t at) {
  Link link{.lnkcap = config.u32(at + lnkcap_at),
            .lnkctl = config.u16(at + lnkctl_at),
            .lnksta = config.u16(at + lnksta_at)};
  link.max_speed_gts = speed_of_code(link.lnkcap & 0xF);
  link.max_width = static_cast<int>(link.lnkcap >> 4 & 0x3F);
  link.speed_gts = speed_of_code(link.lnksta & 0xF);
  link.width = link.lnksta >> 4 & 0x3F;
  link.aspm_supported = static_cast<Aspm>(link.lnkcap >> 10 & 0x3);
  link.aspm_enabled = static_cast<Aspm>(link.lnkctl & 0x3);
  return link;
}

Link2 decode_link2(const ConfigReader& config, std::size_t at) {
  Link2 link{.lnkcap2 = config.u32(at + lnkcap2_at),
             .lnkctl2 = config.u16(at + lnkctl2_at),
             .lnksta2 = config.u16(at + lnksta2_at)};
  // Bit k of the vector at bits 7:1 is speed code k + 1.
  for (unsigned code = 1; code <= 7; ++code) {
    const double speed = speed_of_code(code);
    if ((link.lnkcap2 & 1u << code) != 0 && speed != 0) link.speeds_gts.push_back(speed);
  }
  link.target_speed_gts = speed_of_code(link.lnkctl2 & 0xF);
  return link;
}

}  // namespace

const char* to_text(PortType type) {
  switch (type) {
    case PortType::endpoint:
      return "Endpoint";
    case PortType::legacy_endpoint:
      return "Legacy Endpoint";
    case PortType::root_port:
      return "Root Port";
    case PortType::upstream_port:
      return "Upstream Port";
    case PortType::downstream_port:
      return "Downstream Port";
    case PortType::pcie_to_pci_bridge:
      return "PCI-Express to PCI/PCI-X Bridge";
    case PortType::pci_to_pcie_bridge:
      return "PCI/PCI-X to PCI-Express Bridge";
    case PortType::integrated_endpoint:
      return "Root Complex Integrated Endpoint";
    case PortType::event_collector:
      return "Root Complex Event Collector";
  }
  return "Unknown type";
}

unsigned DeviceRegisters::max_payload_supported() const {
  return payload_bytes(devcap & 0x7);
}
unsigned DeviceRegisters::max_payload() const {
  return payload_bytes(devctl >> 5 & 0x7);
}
unsigned DeviceRegisters::max_read_request() const {
  return payload_bytes(devctl >> 12 & 0x7);
}
std::optional<double> DeviceRegisters::captured_power_limit_w() const {
  return power_limit_w(devcap >> 18 & 0xFF, devcap >> 26 & 0x3);
}

std::optional<bool> Link::active() const {
  if ((lnkcap & 1u << 20) == 0) return std::nullopt;  // Link Active Reporting Capable
  return (lnksta & 1u << 13) != 0;
}

double speed_of_code(unsigned code) {
  static constexpr std::array<double, 7> speeds = {0, 2.5, 5.0, 8.0, 16.0, 32.0, 64.0};
  return code < speeds.size() ? speeds[code] : 0;
}

double lane_bandwidth_gbps(double speed_gts) {
  if (speed_gts <= 5.0) return speed_gts * 8 / 10 / 8;
  if (speed_gts <= 32.0) return speed_gts * 128 / 130 / 8;
  return speed_gts * 236 / 256 / 8;
}

PciExpress decode_pci_express(const ConfigReader& config, std::size_t at) {
  PciExpress e;
  if (!config.has(at + flags_at, 2)) {
    e.cut = true;
    return e;
  }
  const std::uint16_t flags = config.u16(at + flags_at);
  e.version = flags & 0xF;
  e.type = static_cast<PortType>(flags >> 4 & 0xF);
  const bool in_root_complex =
      e.type == PortType::integrated_endpoint || e.type == PortType::event_collector;
  const bool has_slot = (e.type == PortType::root_port || e.type == PortType::downstream_port) &&
                        (flags & 1u << 8) != 0;
  const bool has_link2 = e.version >= 2 && !in_root_complex;

  // A part is decoded when all of it could be read.
  const auto can_read = [&](std::size_t end) {
    const bool there = config.has(at, end);
    e.cut = e.cut || !there;
    return there;
  };
  if (can_read(devsta_at + 2)) {
    e.device = DeviceRegisters{.devcap = config.u32(at + devcap_at),
                               .devctl = config.u16(at + devctl_at),
                               .devsta = config.u16(at + devsta_at)};
  }
  if (!in_root_complex && can_read(lnksta_at + 2)) e.link = decode_link(config, at);
  if (has_slot && can_read(sltsta_at + 2)) {
    Slot slot{.sltcap = config.u32(at + sltcap_at),
              .sltctl = config.u16(at + sltctl_at),
              .sltsta = config.u16(at + sltsta_at)};
    slot.power_limit_w = power_limit_w(slot.sltcap >> 7 & 0xFF, slot.sltcap >> 15 & 0x3);
    slot.number = slot.sltcap >> 19;
    e.slot = slot;
  }
  if (has_link2 && can_read(lnksta2_at + 2)) e.link2 = decode_link2(config, at);
  return e;
}

}  // namespace assay::probes
