// Configuration spaces written by hand: a header, and capabilities where a test wants them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace assay::test {

class ConfigBytes {
 public:
  explicit ConfigBytes(std::size_t size = 256) : bytes_(size, 0) {
    u16(0x00, 0x1E36);
    u16(0x02, 0x0006);
    u16(0x0A, 0x1200);
    u16(0x06, 0x0010);  // Status: capability list
  }
  ConfigBytes& u8(std::size_t at, unsigned value) {
    bytes_.at(at) = static_cast<std::uint8_t>(value);
    return *this;
  }
  ConfigBytes& u16(std::size_t at, unsigned value) {
    return u8(at, value & 0xFF).u8(at + 1, value >> 8);
  }
  ConfigBytes& u32(std::size_t at, std::uint32_t value) {
    return u16(at, value & 0xFFFF).u16(at + 2, value >> 16);
  }
  ConfigBytes& device_class(unsigned value) { return u16(0x0A, value); }
  ConfigBytes& first_capability(unsigned at) { return u8(0x34, at); }
  ConfigBytes& capability(std::size_t at, unsigned id, unsigned next) {
    return u8(at, id).u8(at + 1, next);
  }
  ConfigBytes& bridge(unsigned secondary_bus) { return u8(0x0E, 0x01).u8(0x19, secondary_bus); }
  // A PCI Express capability that is the only one. `type` is the Device/Port Type.
  ConfigBytes& pci_express(std::size_t at, unsigned type, std::uint32_t lnkcap, unsigned lnksta) {
    first_capability(static_cast<unsigned>(at));
    capability(at, 0x10, 0);
    u16(at + 0x02, 0x2 | type << 4);
    u32(at + 0x0C, lnkcap);
    return u16(at + 0x12, lnksta);
  }
  ConfigBytes& slot(std::size_t capability_at, unsigned power_value, unsigned power_scale) {
    u8(capability_at + 0x03, bytes_[capability_at + 0x03] | 0x01u);  // Slot Implemented
    return u32(capability_at + 0x14, power_value << 7 | power_scale << 15);
  }

  const std::vector<std::uint8_t>& bytes() const { return bytes_; }
  std::string text() const { return {bytes_.begin(), bytes_.end()}; }

 private:
  std::vector<std::uint8_t> bytes_;
};

}  // namespace assay::test
