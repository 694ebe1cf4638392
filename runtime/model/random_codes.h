// Random numbers in packed form, made 8 bytes at a time from a counter (SplitMix64, Steele, Lea and
// Flood 2014), so that they depend neither on threads nor on order.
#pragma once

#include <bit>
#include <cstdint>

namespace assay::runtime {

// What a counter grows by.
inline constexpr std::uint64_t golden = 0x9E37'79B9'7F4A'7C15;

constexpr std::uint64_t mix(std::uint64_t z) {
  z = (z ^ (z >> 30)) * 0xBF58'476D'1CE4'E5B9;
  z = (z ^ (z >> 27)) * 0x94D0'49BB'1331'11EB;
  return z ^ (z >> 31);
}

// What a plane is filled with: random codes, or F32 numbers of a range.
struct CodePattern {
  // Codes: random bits under `mask`, plus `base`; no code carries into the next.
  std::uint64_t mask = 0;
  std::uint64_t base = 0;
  bool is_int4 = false;
  // F32: uniform in [low, low + range).
  bool is_f32 = false;
  float low = 0;
  float range = 0;

  // 8 bytes of the plane from 8 random ones.
  std::uint64_t word(std::uint64_t bits) const {
    if (is_int4) {
      // Code 0 (-8) becomes 8 (0), else the mean would be half a step below 0, and that grows from
      // layer to layer.
      const std::uint64_t not_zero = bits | bits >> 1 | bits >> 2 | bits >> 3;
      return bits | (~not_zero & 0x1111'1111'1111'1111) << 3;
    }
    if (!is_f32) return (bits & mask) + base;
    const auto number = [&](std::uint32_t random) {
      const float unit = static_cast<float>(random >> 8) * 0x1p-24F;
      return std::uint64_t{std::bit_cast<std::uint32_t>(low + range * unit)};
    };
    return number(static_cast<std::uint32_t>(bits)) | number(static_cast<std::uint32_t>(bits >> 32))
                                                          << 32;
  }
};

CodePattern uniform(float low, float high);

// Each of mean 0 and root mean square `sigma`.
CodePattern random_f32(float sigma);
// Binary16: both signs, four octaves.
CodePattern random_halves(float sigma);
// Binary16 of numbers that FP8 E4M3 has, times a power of two: three bits of mantissa, eight
// octaves. The root mean square is within a factor of 1.42 of `sigma`.
CodePattern random_halves_on_the_fp8_grid(float sigma);

// FP8 E4M3 codes, and the root mean square of what they stand for.
CodePattern random_fp8();
float rms_of_random_fp8();
// All int8 codes, all int4 codes but 0.
inline constexpr CodePattern random_int8{.mask = ~std::uint64_t{0}};
inline constexpr CodePattern random_int4{.is_int4 = true};
inline constexpr float rms_of_random_int8 = 73.9F;  // of -128..127
inline constexpr float rms_of_random_int4 = 4.18F;  // of -7..7, 0 twice as often
// Binary16 scales within half an octave around `mean`.
CodePattern random_half_scales(float mean);

}  // namespace assay::runtime
