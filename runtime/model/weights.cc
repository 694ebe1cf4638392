#include "runtime/model/weights.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>
#include <vector>

#include "runtime/model/number_formats.h"

namespace assay::runtime {
namespace {

constexpr std::uint64_t golden = 0x9E37'79B9'7F4A'7C15;

std::uint64_t mix(std::uint64_t z) {
  z = (z ^ (z >> 30)) * 0xBF58'476D'1CE4'E5B9;
  z = (z ^ (z >> 27)) * 0x94D0'49BB'1331'11EB;
  return z ^ (z >> 31);
}

// What a plane is filled with: random codes, or F32 numbers of a range.
struct Pattern {
  // Codes: random bits under `mask`, plus `base`; no code carries into the next.
  std::uint64_t mask = 0;
  std::uint64_t base = 0;
  bool is_int4 = false;
  // F32: uniform in [low, low + range).
  bool is_f32 = false;
  float low = 0;
  float range = 0;

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

Pattern uniform(float low, float high) {
  return {.is_f32 = true, .low = low, .range = high - low};
}

constexpr std::uint64_t in_each_half(std::uint16_t code) {
  return std::uint64_t{code} * 0x0001'0001'0001'0001;
}
constexpr std::uint64_t in_each_byte(std::uint8_t code) {
  return std::uint64_t{code} * 0x0101'0101'0101'0101;
}

// Both signs and 2^12 codes from `base` on: four octaves.
constexpr std::uint16_t half_mask = 0x8FFF;
// Both signs and eight octaves from code 0x20 (1/8) on, 2^6 codes, the largest 30.
constexpr std::uint8_t fp8_mask = 0xBF;
constexpr std::uint8_t fp8_base = 0x20;

// Root mean square of what the codes above stand for, halves relative to the smallest of them.
float rms_of_halves() {
  double sum = 0;
  for (std::uint16_t code = 0; code < 0x1000; ++code) {
    sum += std::pow(half_to_float(static_cast<std::uint16_t>(0x3C00 + code)), 2);
  }
  return static_cast<float>(std::sqrt(sum / 0x1000));
}

float rms_of_fp8() {
  double sum = 0;
  for (std::uint8_t code = 0; code < 0x40; ++code) {
    sum += std::pow(fp8_e4m3_to_float(static_cast<std::uint8_t>(fp8_base + code)), 2);
  }
  return static_cast<float>(std::sqrt(sum / 0x40));
}

constexpr float rms_of_int8 = 73.9F;  // of -128..127
constexpr float rms_of_int4 = 4.18F;  // of -7..7, 0 twice as often

struct Patterns {
  Pattern codes;
  Pattern scales;
};

Patterns patterns_of(const TensorPlace& tensor) {
  switch (tensor.role) {
    case TensorRole::attention_norm:
    case TensorRole::ffn_norm:
    case TensorRole::final_norm:
      return {uniform(0.5F, 1.5F), {}};
    default:
      break;
  }
  // A row of the embedding enters the residual stream as it is.
  const float sigma = tensor.role == TensorRole::embedding
                          ? 1.0F
                          : 1.0F / std::sqrt(static_cast<float>(tensor.cols));
  const auto row_scales = [&](float code_rms) {
    return uniform(0.75F * sigma / code_rms, 1.25F * sigma / code_rms);
  };
  switch (tensor.type) {
    case TensorType::f32:
      return {uniform(-1.732F * sigma, 1.732F * sigma), {}};
    case TensorType::f16:
      return {{.mask = in_each_half(half_mask),
               .base = in_each_half(half_from_positive(sigma / rms_of_halves()))},
              {}};
    case TensorType::fp8_e4m3:
      return {{.mask = in_each_byte(fp8_mask), .base = in_each_byte(fp8_base)},
              row_scales(rms_of_fp8())};
    case TensorType::int8:
      return {{.mask = ~std::uint64_t{0}}, row_scales(rms_of_int8)};
    case TensorType::int4:
      // 2^9 codes are half an octave: scales of 0.8 to 1.2 times the mean.
      return {{.is_int4 = true},
              {.mask = in_each_half(0x01FF),
               .base = in_each_half(half_from_positive(0.8F * sigma / rms_of_int4))}};
  }
  return {};
}

// A piece of one plane, small enough that cancelling is prompt and threads finish together.
struct Piece {
  std::byte* memory = nullptr;
  std::uint64_t bytes = 0;
  std::uint64_t counter = 0;  // of its first 8 bytes, from the plane's key on
  Pattern pattern;
};

constexpr std::uint64_t piece_bytes = 1 << 20;

void fill(const Piece& piece) {
  std::uint64_t counter = piece.counter;
  const std::uint64_t whole = piece.bytes / 8 * 8;
  const auto run = [&](const Pattern& pattern) {
    for (std::uint64_t at = 0; at < whole; at += 8) {
      counter += golden;
      const std::uint64_t word = pattern.word(mix(counter));
      std::memcpy(piece.memory + at, &word, 8);
    }
  };
  run(piece.pattern);
  if (whole == piece.bytes) return;
  const std::uint64_t word = piece.pattern.word(mix(counter + golden));
  std::memcpy(piece.memory + whole, &word, piece.bytes - whole);
}

void cut(std::byte* plane, std::uint64_t bytes, std::uint64_t key, const Pattern& pattern,
         std::vector<Piece>& pieces) {
  for (std::uint64_t at = 0; at < bytes; at += piece_bytes) {
    pieces.push_back(
        {plane + at, std::min(piece_bytes, bytes - at), key + at / 8 * golden, pattern});
  }
}

}  // namespace

Result<> fill_weights(const Layout& layout, std::span<const std::span<std::byte>> memory,
                      std::uint64_t seed, WorkerPool& pool, const CancelToken& cancel,
                      const FillProgress& progress) {
  std::vector<Piece> pieces;
  std::uint64_t plane = 0;
  for (const TensorPlace& tensor : layout.tensors) {
    const std::uint64_t codes_key = mix(mix(seed) + ++plane * golden);
    const std::uint64_t scales_key = mix(mix(seed) + ++plane * golden);
    if (!layout.computed(tensor)) continue;
    const Patterns patterns = patterns_of(tensor);
    std::byte* start = memory[tensor.mapping].data() + tensor.offset;
    cut(start, tensor.bytes.codes, codes_key, patterns.codes, pieces);
    cut(start + tensor.bytes.scales_offset, tensor.bytes.scales, scales_key, patterns.scales,
        pieces);
  }
  const std::uint64_t total = layout.computed_bytes();
  std::atomic<std::size_t> next{0};
  std::atomic<std::uint64_t> done{0};
  pool.run([&](unsigned worker) {
    while (!cancel.cancelled()) {
      const std::size_t taken = next.fetch_add(1, std::memory_order_relaxed);
      if (taken >= pieces.size()) return;
      fill(pieces[taken]);
      done.fetch_add(pieces[taken].bytes, std::memory_order_relaxed);
      if (worker == 0 && progress) progress(done.load(std::memory_order_relaxed), total);
    }
  });
  if (done.load() != total) return fail(ErrorKind::cancelled, "filling the weights was cancelled");
  if (progress) progress(total, total);
  return {};
}

}  // namespace assay::runtime
