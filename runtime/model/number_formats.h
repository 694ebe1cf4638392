// Scalar conversions of the small floating point formats. The kernels have their own, many lanes at
// a time; these are for single values and for tables.
#pragma once

#include <bit>
#include <cstdint>
#include <limits>

namespace assay::runtime {

// IEEE 754 binary16, every code.
constexpr float half_to_float(std::uint16_t code) {
  const std::uint32_t sign = (code & 0x8000U) << 16;
  const std::uint32_t exponent = (code >> 10) & 0x1FU;
  const std::uint32_t mantissa = code & 0x3FFU;
  if (exponent == 0) {
    const float magnitude = static_cast<float>(mantissa) * 0x1p-24F;
    return sign != 0 ? -magnitude : magnitude;
  }
  const std::uint32_t wide = exponent == 31 ? 255U : exponent + 112U;
  return std::bit_cast<float>(sign | (wide << 23) | (mantissa << 13));
}

// Rounds towards zero. `value` is positive and within the normal numbers of binary16.
constexpr std::uint16_t half_from_positive(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  return static_cast<std::uint16_t>((bits - (112U << 23)) >> 13);
}

// OCP E4M3 (OCP 8-bit Floating Point Specification 1.0, section 5.2), every code.
constexpr float fp8_e4m3_to_float(std::uint8_t code) {
  if ((code & 0x7FU) == 0x7FU) return std::numeric_limits<float>::quiet_NaN();
  const std::uint32_t sign = (code & 0x80U) << 24;
  const std::uint32_t exponent = (code >> 3) & 0xFU;
  const std::uint32_t mantissa = code & 0x7U;
  if (exponent == 0) {
    const float magnitude = static_cast<float>(mantissa) * 0x1p-9F;
    return sign != 0 ? -magnitude : magnitude;
  }
  return std::bit_cast<float>(sign | ((exponent + 120U) << 23) | (mantissa << 20));
}

}  // namespace assay::runtime
