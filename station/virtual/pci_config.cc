#include "station/virtual/pci_config.h"

#include <charconv>

namespace assay::station {
namespace {

// Written here from the specification (PCI Express Base 5.0, section 7.5), not through the probe's
// decoder: the two check each other.
class Config {
 public:
  void u8(std::size_t at, unsigned value) { bytes_[at] = static_cast<char>(value & 0xFF); }
  void u16(std::size_t at, unsigned value) {
    u8(at, value);
    u8(at + 1, value >> 8);
  }
  void u32(std::size_t at, std::uint32_t value) {
    u16(at, value & 0xFFFF);
    u16(at + 2, value >> 16);
  }
  std::string take() { return std::move(bytes_); }

 private:
  std::string bytes_ = std::string(256, '\0');
};

unsigned speed_code(double gts) {
  unsigned code = 1;
  for (double speed = 2.5; speed < gts; speed = speed < 8 ? (speed < 5 ? 5 : 8) : speed * 2) ++code;
  return code;
}

unsigned bus_of(const std::string& address) {
  unsigned bus = 0;
  std::from_chars(address.data() + 5, address.data() + 7, bus, 16);
  return bus;
}

}  // namespace

std::string encode_config_space(const VirtualPciFunction& f) {
  using Kind = VirtualPciFunction::Kind;
  constexpr std::size_t power_management = 0x40;
  constexpr std::size_t pci_express = 0x70;
  Config c;
  c.u16(0x00, f.vendor);
  c.u16(0x02, f.device);
  c.u16(0x04, 0x0006);  // memory space, bus master
  c.u16(0x0A, f.class_code);
  if (f.kind == Kind::host) return c.take();

  c.u16(0x06, 0x0010);  // a capability list
  c.u8(0x34, power_management);
  c.u8(power_management, 0x01);
  c.u8(power_management + 1, pci_express);
  c.u16(power_management + 2, 0x0003);  // version 1.2 of the interface, D0
  const bool port = f.kind == Kind::root_port;
  if (port) {
    c.u8(0x0E, 0x01);  // type 1 header
    c.u8(0x18, bus_of(f.address));
    c.u8(0x19, f.secondary_bus);
    c.u8(0x1A, f.secondary_bus);
  }
  c.u8(pci_express, 0x10);
  const unsigned type = port ? 0x4 : 0x0;
  c.u16(pci_express + 0x02, 0x2 | type << 4 | (port ? 1u << 8 : 0));
  c.u32(pci_express + 0x0C,
        speed_code(f.max_speed_gts) | static_cast<std::uint32_t>(f.max_width) << 4 | 3u << 10);
  c.u16(pci_express + 0x12,
        speed_code(f.speed_gts) | static_cast<unsigned>(f.width) << 4 | 1u << 12);  // slot clock
  if (port) c.u32(pci_express + 0x14, static_cast<std::uint32_t>(f.slot_power_w) << 7);
  return c.take();
}

}  // namespace assay::station
