#include "runtime/quant/unpack.h"

#include <bit>
#include <cstdint>
#include <cstring>
#include <utility>

#include "runtime/model/number_formats.h"

namespace assay::runtime {
namespace {

unsigned byte_at(const std::byte* at) {
  return std::to_integer<unsigned>(*at);
}

template <class T>
T load_as(const std::byte* at) {
  T value;
  std::memcpy(&value, at, sizeof value);
  return value;
}

float half_of(const std::byte* at) {
  return half_to_float(load_as<std::uint16_t>(at));
}

// Half `high` of a byte: 4 bits.
unsigned nibble(const std::byte* at, bool high) {
  return high ? byte_at(at) >> 4 : byte_at(at) & 15U;
}

void unpack_q8_0(const std::byte* block, float* weights) {
  const float d = half_of(block);
  for (unsigned i = 0; i < 32; ++i) {
    weights[i] = d * static_cast<float>(load_as<std::int8_t>(block + 2 + i));
  }
}

void unpack_q4_0(const std::byte* block, float* weights) {
  const float d = half_of(block);
  for (unsigned i = 0; i < 32; ++i) {
    const unsigned code = nibble(block + 2 + i % 16, i >= 16);
    weights[i] = d * (static_cast<float>(code) - 8.0F);
  }
}

void unpack_q4_1(const std::byte* block, float* weights) {
  const float d = half_of(block);
  const float m = half_of(block + 2);
  for (unsigned i = 0; i < 32; ++i) {
    weights[i] = d * static_cast<float>(nibble(block + 4 + i % 16, i >= 16)) + m;
  }
}

void unpack_q5_0(const std::byte* block, float* weights) {
  const float d = half_of(block);
  const auto fifth = load_as<std::uint32_t>(block + 2);
  for (unsigned i = 0; i < 32; ++i) {
    const unsigned code = nibble(block + 6 + i % 16, i >= 16) | (fifth >> i & 1U) << 4;
    weights[i] = d * (static_cast<float>(code) - 16.0F);
  }
}

struct SubBlock {
  float scale;
  float minimum;
};

// Of sub-block `i` of 8, from the 16 bytes that Q4_K and Q5_K begin with: d, minimum, and 6 bits
// each. The first four scales and minima have bytes of their own, whose two upper bits are those of
// the others.
SubBlock sub_block(const std::byte* block, unsigned i) {
  const std::byte* six = block + 4;
  unsigned scale = 0;
  unsigned minimum = 0;
  if (i < 4) {
    scale = byte_at(six + i) & 63U;
    minimum = byte_at(six + i + 4) & 63U;
  } else {
    scale = nibble(six + i + 4, false) | (byte_at(six + i - 4) >> 6) << 4;
    minimum = nibble(six + i + 4, true) | (byte_at(six + i) >> 6) << 4;
  }
  return {half_of(block) * static_cast<float>(scale),
          half_of(block + 2) * static_cast<float>(minimum)};
}

// `fifth` are the 32 bytes with one bit for each sub-block, or null.
void unpack_k_with_minima(const std::byte* block, const std::byte* fifth, const std::byte* codes,
                          float* weights) {
  for (unsigned i = 0; i < 8; ++i) {
    const SubBlock sub = sub_block(block, i);
    for (unsigned j = 0; j < 32; ++j) {
      unsigned code = nibble(codes + i / 2 * 32 + j, i % 2 == 1);
      if (fifth != nullptr) code |= (byte_at(fifth + j) >> i & 1U) << 4;
      weights[i * 32 + j] = sub.scale * static_cast<float>(code) - sub.minimum;
    }
  }
}

void unpack_q4_k(const std::byte* block, float* weights) {
  unpack_k_with_minima(block, nullptr, block + 16, weights);
}

void unpack_q5_k(const std::byte* block, float* weights) {
  unpack_k_with_minima(block, block + 16, block + 48, weights);
}

void unpack_q6_k(const std::byte* block, float* weights) {
  const std::byte* low = block;
  const std::byte* upper = block + 128;
  const std::byte* scales = block + 192;
  const float d = half_of(block + 208);
  for (unsigned i = 0; i < 256; ++i) {
    // Each half of the block has four groups of 32: the low bits of group g are halves of 64 bytes,
    // its upper two the pair g of bits of 32 bytes.
    const unsigned half = i / 128;
    const unsigned group = i / 32 % 4;
    const unsigned j = i % 32;
    const unsigned code = nibble(low + half * 64 + group % 2 * 32 + j, group >= 2) |
                          (byte_at(upper + half * 32 + j) >> group * 2 & 3U) << 4;
    const float scale = d * static_cast<float>(load_as<std::int8_t>(scales + i / 16));
    weights[i] = scale * (static_cast<float>(code) - 32.0F);
  }
}

void unpack_f32(const std::byte* block, float* weight) {
  *weight = load_as<float>(block);
}

void unpack_f16(const std::byte* block, float* weight) {
  *weight = half_of(block);
}

void unpack_bf16(const std::byte* block, float* weight) {
  *weight = std::bit_cast<float>(std::uint32_t{load_as<std::uint16_t>(block)} << 16);
}

using UnpackBlock = void (*)(const std::byte*, float*);

UnpackBlock unpacker_of(GgufType type) {
  switch (type) {
    case GgufType::f32:
      return unpack_f32;
    case GgufType::f16:
      return unpack_f16;
    case GgufType::bf16:
      return unpack_bf16;
    case GgufType::q8_0:
      return unpack_q8_0;
    case GgufType::q4_0:
      return unpack_q4_0;
    case GgufType::q4_1:
      return unpack_q4_1;
    case GgufType::q5_0:
      return unpack_q5_0;
    case GgufType::q4_k:
      return unpack_q4_k;
    case GgufType::q5_k:
      return unpack_q5_k;
    case GgufType::q6_k:
      return unpack_q6_k;
  }
  std::unreachable();
}

}  // namespace

void unpack(GgufType type, std::span<const std::byte> blocks, std::span<float> weights) {
  const GgufBlock block = block_of(type);
  const UnpackBlock unpack_one = unpacker_of(type);
  float* out = weights.data();
  for (std::size_t at = 0; at < blocks.size(); at += block.bytes, out += block.elements) {
    unpack_one(blocks.data() + at, out);
  }
}

}  // namespace assay::runtime
