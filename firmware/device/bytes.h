// Little-endian numbers in bytes of any alignment.
#pragma once

#include <cstdint>

namespace assay::firmware::device {

inline std::uint16_t get16(const std::uint8_t* b) {
  return static_cast<std::uint16_t>(b[0] | b[1] << 8);
}
inline std::uint32_t get32(const std::uint8_t* b) {
  return b[0] | static_cast<std::uint32_t>(b[1]) << 8 | static_cast<std::uint32_t>(b[2]) << 16 |
         static_cast<std::uint32_t>(b[3]) << 24;
}
inline void put16(std::uint8_t* b, std::uint16_t v) {
  b[0] = static_cast<std::uint8_t>(v);
  b[1] = static_cast<std::uint8_t>(v >> 8);
}
inline void put32(std::uint8_t* b, std::uint32_t v) {
  put16(b, static_cast<std::uint16_t>(v));
  put16(b + 2, static_cast<std::uint16_t>(v >> 16));
}

}  // namespace assay::firmware::device
