#include "runtime/model/random_codes.h"

#include <cmath>

#include "runtime/model/number_formats.h"

namespace assay::runtime {
namespace {

constexpr std::uint64_t in_each_half(std::uint16_t code) {
  return std::uint64_t{code} * 0x0001'0001'0001'0001;
}
constexpr std::uint64_t in_each_byte(std::uint8_t code) {
  return std::uint64_t{code} * 0x0101'0101'0101'0101;
}

// Both signs and 2^12 codes from a base on: four octaves.
constexpr std::uint16_t half_mask = 0x8FFF;
// Both signs and eight octaves from code 0x20 (1/8) on, 2^6 codes, the largest 30.
constexpr std::uint8_t fp8_mask = 0xBF;
constexpr std::uint8_t fp8_base = 0x20;
// The same in a half: the upper three bits of its mantissa, the lower three of its exponent.
constexpr std::uint16_t fp8_in_half_mask = 0x9F80;

// Root mean square of what the codes above stand for, halves relative to the smallest of them.
float rms_of_halves() {
  double sum = 0;
  for (std::uint16_t code = 0; code < 0x1000; ++code) {
    sum += std::pow(half_to_float(static_cast<std::uint16_t>(0x3C00 + code)), 2);
  }
  return static_cast<float>(std::sqrt(sum / 0x1000));
}

}  // namespace

CodePattern uniform(float low, float high) {
  return {.is_f32 = true, .low = low, .range = high - low};
}

CodePattern random_f32(float sigma) {
  return uniform(-1.732F * sigma, 1.732F * sigma);
}

CodePattern random_halves(float sigma) {
  return {.mask = in_each_half(half_mask),
          .base = in_each_half(half_from_positive(sigma / rms_of_halves()))};
}

CodePattern random_halves_on_the_fp8_grid(float sigma) {
  const float smallest = 0.125F;  // code 0x20
  const float octave = std::round(std::log2(sigma * smallest / rms_of_random_fp8()));
  return {.mask = in_each_half(fp8_in_half_mask),
          .base = in_each_half(half_from_positive(std::exp2(octave)))};
}

CodePattern random_fp8() {
  return {.mask = in_each_byte(fp8_mask), .base = in_each_byte(fp8_base)};
}

float rms_of_random_fp8() {
  double sum = 0;
  for (std::uint8_t code = 0; code < 0x40; ++code) {
    sum += std::pow(fp8_e4m3_to_float(static_cast<std::uint8_t>(fp8_base + code)), 2);
  }
  return static_cast<float>(std::sqrt(sum / 0x40));
}

CodePattern random_half_scales(float mean) {
  // 2^9 codes are half an octave: scales of 0.8 to 1.2 times the mean.
  return {.mask = in_each_half(0x01FF), .base = in_each_half(half_from_positive(0.8F * mean))};
}

}  // namespace assay::runtime
