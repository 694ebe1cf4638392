#include "runtime/quant/unpack.h"

#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <fstream>
#include <iterator>
#include <limits>
#include <string>
#include <vector>

namespace assay::runtime {
namespace {

std::vector<std::byte> data_file(const std::string& name) {
  std::ifstream file(ASSAY_GGUF_BLOCKS "/" + name, std::ios::binary);
  const std::string content((std::istreambuf_iterator<char>(file)), {});
  std::vector<std::byte> bytes(content.size());
  std::memcpy(bytes.data(), content.data(), content.size());
  return bytes;
}

std::vector<float> unpacked(GgufType type, std::span<const std::byte> blocks) {
  const GgufBlock block = block_of(type);
  std::vector<float> weights(blocks.size() / block.bytes * block.elements);
  unpack(type, blocks, weights);
  return weights;
}

template <std::size_t n, class T>
std::vector<float> unpacked_numbers(GgufType type, const std::array<T, n>& numbers) {
  return unpacked(type, std::as_bytes(std::span(numbers)));
}

// tests/data/gguf-blocks: packed and unpacked by another implementation.
TEST(Unpack, givesTheWeightsThatTheFormatsOwnLibraryGives) {
  for (const auto& [type, name] : {std::pair{GgufType::q8_0, "q8_0"},
                                   {GgufType::q4_0, "q4_0"},
                                   {GgufType::q4_1, "q4_1"},
                                   {GgufType::q5_0, "q5_0"},
                                   {GgufType::q4_k, "q4_k"},
                                   {GgufType::q5_k, "q5_k"},
                                   {GgufType::q6_k, "q6_k"}}) {
    const auto blocks = data_file(std::string(name) + ".blocks");
    const auto bytes = data_file(std::string(name) + ".weights");
    std::vector<float> expected(bytes.size() / sizeof(float));
    std::memcpy(expected.data(), bytes.data(), bytes.size());
    const auto weights = unpacked(type, blocks);
    ASSERT_EQ(expected.size(), 1024U) << name;
    ASSERT_EQ(weights.size(), expected.size()) << name;
    for (std::size_t i = 0; i < weights.size(); ++i) {
      // Multiplying and adding may be one rounding or two.
      ASSERT_NEAR(weights[i], expected[i], 1e-6) << name << " " << i;
    }
  }
}

// Powers of two and what the formats say of their largest, smallest and special numbers.
TEST(Unpack, takesFloatsOfEveryWidthAsTheyAre) {
  EXPECT_EQ(unpacked_numbers(GgufType::f32, std::array{1.5F, -0.0F, 3e38F}),
            (std::vector{1.5F, -0.0F, 3e38F}));
  EXPECT_EQ(
      unpacked_numbers(GgufType::f16, std::array<std::uint16_t, 4>{0x3C00, 0xC000, 0x7BFF, 0x0001}),
      (std::vector{1.0F, -2.0F, 65'504.0F, 0x1p-24F}));
  EXPECT_EQ(unpacked_numbers(GgufType::bf16, std::array<std::uint16_t, 3>{0x3F80, 0xC000, 0x7F7F}),
            (std::vector{1.0F, -2.0F, 0x1.FEp127F}));
  EXPECT_TRUE(
      std::isnan(unpacked_numbers(GgufType::f16, std::array<std::uint16_t, 1>{0x7E00}).front()));
  EXPECT_TRUE(
      std::isinf(unpacked_numbers(GgufType::bf16, std::array<std::uint16_t, 1>{0xFF80}).front()));
}

// Each code alone, so that one that is read from another's place is seen: the block has a scale of
// 1, all codes are 0 but those of one weight.
TEST(Unpack, aBitOfACodeIsOfOneWeightAlone) {
  struct Layout {
    GgufType type;
    std::vector<std::pair<std::size_t, unsigned>> ones;  // bytes that make the scales 1
    std::size_t codes_begin;
    std::size_t codes_end;
  };
  // 0x3C00 is 1 as binary16. Six bits of scale that are 1 for each sub-block.
  const std::vector<std::pair<std::size_t, unsigned>> k_scales = {
      {1, 0x3C}, {4, 1}, {5, 1}, {6, 1}, {7, 1}, {12, 1}, {13, 1}, {14, 1}, {15, 1}};
  std::vector<std::pair<std::size_t, unsigned>> q6_scales = {{209, 0x3C}};
  for (std::size_t i = 0; i < 16; ++i) q6_scales.emplace_back(192 + i, 1);
  for (const Layout& layout : {Layout{GgufType::q8_0, {{1, 0x3C}}, 2, 34},
                               {GgufType::q4_0, {{1, 0x3C}}, 2, 18},
                               {GgufType::q4_1, {{1, 0x3C}}, 4, 20},
                               {GgufType::q5_0, {{1, 0x3C}}, 2, 22},
                               {GgufType::q4_k, k_scales, 16, 144},
                               {GgufType::q5_k, k_scales, 16, 176},
                               {GgufType::q6_k, q6_scales, 0, 192}}) {
    const GgufBlock block = block_of(layout.type);
    std::vector<std::byte> bytes(block.bytes);
    for (const auto& [at, value] : layout.ones) bytes[at] = static_cast<std::byte>(value);
    const auto zero = unpacked(layout.type, bytes);
    std::vector<double> sums(block.elements);
    for (std::size_t at = layout.codes_begin; at < layout.codes_end; ++at) {
      for (unsigned bit = 0; bit < 8; ++bit) {
        auto changed = bytes;
        changed[at] ^= static_cast<std::byte>(1U << bit);
        const auto weights = unpacked(layout.type, changed);
        std::size_t different = 0;
        for (std::size_t i = 0; i < weights.size(); ++i) {
          const float by = weights[i] - zero[i];
          if (by == 0) continue;
          ++different;
          sums[i] += by;
        }
        EXPECT_EQ(different, 1U) << block.name << " byte " << at << " bit " << bit;
      }
    }
    // And the bits of each weight together are all that a code can be.
    const double all = layout.type == GgufType::q8_0                                    ? -1
                       : layout.type == GgufType::q6_k                                  ? 63
                       : layout.type == GgufType::q5_0 || layout.type == GgufType::q5_k ? 31
                                                                                        : 15;
    for (const double sum : sums) EXPECT_EQ(sum, all) << block.name;
  }
}

}  // namespace
}  // namespace assay::runtime
