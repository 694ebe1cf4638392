#include "probes/pcie/config_space.h"

#include <array>

namespace assay::probes {
namespace {

// Type 0/1 header, section 7.5.1.
constexpr std::size_t header_bytes = 64;
constexpr std::size_t vendor_at = 0x00;
constexpr std::size_t device_at = 0x02;
constexpr std::size_t status_at = 0x06;
constexpr unsigned status_capability_list = 1u << 4;
constexpr std::size_t class_at = 0x0A;  // subclass, then base class
constexpr std::size_t header_type_at = 0x0E;
constexpr std::size_t secondary_bus_at = 0x19;
constexpr std::size_t capabilities_pointer_at = 0x34;

// PCI Express capability, section 7.5.3.
constexpr std::uint8_t pci_express_id = 0x10;
constexpr std::size_t flags_at = 0x02;
constexpr std::size_t lnkcap_at = 0x0C;
constexpr std::size_t lnksta_at = 0x12;
constexpr std::size_t sltcap_at = 0x14;

class Reader {
 public:
  explicit Reader(std::span<const std::uint8_t> bytes) : bytes_(bytes) {}
  bool has(std::size_t at, std::size_t length) const {
    return at <= bytes_.size() && length <= bytes_.size() - at;
  }
  std::uint8_t u8(std::size_t at) const { return bytes_[at]; }
  std::uint16_t u16(std::size_t at) const {
    return static_cast<std::uint16_t>(bytes_[at] | bytes_[at + 1] << 8);
  }
  std::uint32_t u32(std::size_t at) const {
    return u16(at) | static_cast<std::uint32_t>(u16(at + 2)) << 16;
  }

 private:
  std::span<const std::uint8_t> bytes_;
};

Link decode_link(std::uint32_t lnkcap, std::uint16_t lnksta) {
  return {.lnkcap = lnkcap,
          .lnksta = lnksta,
          .max_speed_gts = speed_of_code(lnkcap & 0xF),
          .max_width = static_cast<int>(lnkcap >> 4 & 0x3F),
          .speed_gts = speed_of_code(lnksta & 0xF),
          .width = lnksta >> 4 & 0x3F};
}

// Section 7.5.3.9: bits 14:7 value, 16:15 scale. Values over 0xEF at scale 1.0 are fixed steps; of
// those that are reserved it is known only that they are higher.
std::optional<double> slot_power_limit(std::uint32_t sltcap) {
  const unsigned value = sltcap >> 7 & 0xFF;
  const unsigned scale = sltcap >> 15 & 0x3;
  if (scale == 0 && value > 0xEF) {
    static constexpr std::array<double, 4> steps = {250, 275, 300, 325};
    if (value - 0xF0 >= steps.size()) return std::nullopt;
    return steps[value - 0xF0];
  }
  static constexpr std::array<double, 4> factors = {1.0, 0.1, 0.01, 0.001};
  return value * factors[scale];
}

void decode_pci_express(const Reader& r, std::size_t at, PciFunction& f) {
  if (!r.has(at + flags_at, 2)) {
    f.cut = true;
    return;
  }
  const std::uint16_t flags = r.u16(at + flags_at);
  const unsigned type = flags >> 4 & 0xF;
  f.port_type = static_cast<PortType>(type);
  // Parts of the root complex have no link of their own.
  if (*f.port_type == PortType::integrated_endpoint || *f.port_type == PortType::event_collector) {
    return;
  }
  if (!r.has(at + lnksta_at, 2)) {
    f.cut = true;
    return;
  }
  f.link = decode_link(r.u32(at + lnkcap_at), r.u16(at + lnksta_at));
  const bool slot_implemented = (flags & 1u << 8) != 0;
  if (slot_implemented && r.has(at + sltcap_at, 4)) {
    f.slot_power_limit_w = slot_power_limit(r.u32(at + sltcap_at));
  }
}

}  // namespace

double speed_of_code(unsigned code) {
  static constexpr std::array<double, 7> speeds = {0, 2.5, 5.0, 8.0, 16.0, 32.0, 64.0};
  return code < speeds.size() ? speeds[code] : 0;
}

double lane_bandwidth_gbps(double speed_gts) {
  if (speed_gts <= 5.0) return speed_gts * 8 / 10 / 8;
  if (speed_gts <= 32.0) return speed_gts * 128 / 130 / 8;
  return speed_gts * 236 / 256 / 8;
}

std::optional<PciFunction> decode_config_space(std::span<const std::uint8_t> bytes,
                                               std::string address) {
  const Reader r(bytes);
  if (!r.has(0, header_bytes) || r.u16(vendor_at) == 0xFFFF) return std::nullopt;
  PciFunction f;
  f.address = std::move(address);
  f.vendor = r.u16(vendor_at);
  f.device = r.u16(device_at);
  f.class_code = r.u16(class_at);
  f.is_bridge = (r.u8(header_type_at) & 0x7F) == 1;
  if (f.is_bridge) f.secondary_bus = r.u8(secondary_bus_at);
  if ((r.u16(status_at) & status_capability_list) == 0) return f;

  // Section 7.5.1.1.11: the low two bits of a pointer are reserved. A list cannot have more than 48
  // entries of 4 bytes in what is behind the header; a loop ends there.
  std::size_t at = r.u8(capabilities_pointer_at) & 0xFCu;
  for (int hops = 0; at >= header_bytes && hops < 48; ++hops) {
    if (!r.has(at, 2)) {
      f.cut = true;
      return f;
    }
    if (r.u8(at) == pci_express_id) {
      decode_pci_express(r, at, f);
      return f;
    }
    at = r.u8(at + 1) & 0xFCu;
  }
  return f;
}

}  // namespace assay::probes
