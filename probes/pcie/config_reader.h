// The bytes of a configuration space, read within their bounds. Little endian, as the bus is.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace assay::probes {

// Of the type 0 and type 1 header; capabilities are behind it.
inline constexpr std::size_t config_header_bytes = 64;

class ConfigReader {
 public:
  explicit ConfigReader(std::span<const std::uint8_t> bytes) : bytes_(bytes) {}

  std::size_t size() const { return bytes_.size(); }
  bool has(std::size_t at, std::size_t length) const {
    return at <= bytes_.size() && length <= bytes_.size() - at;
  }
  // Ask has() first; what is not there reads as 0.
  std::uint8_t u8(std::size_t at) const { return has(at, 1) ? bytes_[at] : std::uint8_t{0}; }
  std::uint16_t u16(std::size_t at) const {
    return static_cast<std::uint16_t>(u8(at) | u8(at + 1) << 8);
  }
  std::uint32_t u32(std::size_t at) const {
    return u16(at) | static_cast<std::uint32_t>(u16(at + 2)) << 16;
  }

 private:
  std::span<const std::uint8_t> bytes_;
};

}  // namespace assay::probes
