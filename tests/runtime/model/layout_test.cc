#include "runtime/model/layout.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace assay::runtime {
namespace {

constexpr std::uint64_t chunk_limit = 1'843'200'000;

Layout layout_of(const char* shape, const char* precision, std::uint32_t layers = 1,
                 std::uint64_t limit = chunk_limit) {
  const auto layout =
      plan_layout(find_shape(shape).value(), find_precision(precision).value(), layers, limit);
  EXPECT_TRUE(layout) << layout.error().text();
  return layout.value_or(Layout{});
}

TEST(Layout, aDenseModelIsOneContiguousMapping) {
  const Layout f16 = layout_of("dense-27b", "f16");
  ASSERT_EQ(f16.mappings.size(), 1U);
  EXPECT_EQ(f16.mappings[0].placement, Placement::contiguous);
  EXPECT_NEAR(static_cast<double>(f16.mapped_bytes()), 54e9, 0.1e9);

  const Layout mixed = layout_of("dense-27b", "mixed-fp8");
  ASSERT_EQ(mixed.mappings.size(), 1U);
  EXPECT_GT(mixed.mapped_bytes(), 21'200'000'000U);
  EXPECT_LT(mixed.mapped_bytes(), 21'400'000'000U);
}

TEST(Layout, aMoeModelIsAMappingForEachExpertAndChunksOfTheRest) {
  const Layout layout = layout_of("moe-7b-a2.4b", "f16");
  EXPECT_NEAR(static_cast<double>(layout.mapped_bytes()), 13.9e9, 0.1e9);
  std::size_t experts = 0;
  for (std::uint32_t m = 0; m < layout.mappings.size(); ++m) {
    EXPECT_EQ(layout.mappings[m].placement, Placement::scattered);
    EXPECT_LE(layout.mappings[m].bytes, chunk_limit);
    const auto in_it = [&](const TensorPlace& t) { return t.mapping == m; };
    const auto first = std::ranges::find_if(layout.tensors, in_it);
    if (first->role != TensorRole::gate) continue;
    ++experts;
    EXPECT_EQ(std::ranges::count_if(layout.tensors, in_it), 3);
    EXPECT_EQ(layout.mappings[m].bytes, 3U * 4096 * 1664 * 2);
  }
  EXPECT_EQ(experts, 16U * 16U);
  EXPECT_GT(layout.mappings.size() - experts, 1U);
}

TEST(Layout, tensorsAreAlignedAndNeverOverlap) {
  for (const std::string& shape : shape_names()) {
    for (const std::string& precision : precision_names()) {
      const Layout layout = layout_of(shape.c_str(), precision.c_str());
      std::vector<std::uint64_t> end(layout.mappings.size());
      // Tensors of a mapping stand in the order of their offsets.
      for (const TensorPlace& t : layout.tensors) {
        ASSERT_EQ(t.offset % tensor_alignment, 0U);
        ASSERT_GE(t.offset, end[t.mapping]);
        ASSERT_EQ(t.bytes.total, tensor_bytes(t.type, t.rows, t.cols).total);
        end[t.mapping] = t.offset + t.bytes.total;
        ASSERT_LE(end[t.mapping], layout.mappings[t.mapping].bytes);
      }
      const std::uint64_t weights = layout.shape.parameters();
      std::uint64_t counted = 0;
      for (const TensorPlace& t : layout.tensors) counted += t.rows * t.cols;
      EXPECT_EQ(counted, weights) << shape;
    }
  }
}

TEST(Layout, mappingsDoNotDependOnTheLayersComputed) {
  const Layout one = layout_of("dense-27b", "mixed-fp8", 1);
  const Layout all = layout_of("dense-27b", "mixed-fp8", 64);
  EXPECT_EQ(one.mapped_bytes(), all.mapped_bytes());
  EXPECT_LT(one.computed_bytes(), 2'400'000'000U);
  EXPECT_GT(all.computed_bytes(), 21'200'000'000U);
}

TEST(Layout, countsTheBytesThatOneTokenReads) {
  const Layout layout = layout_of("moe-small", "f16", 2);
  const ModelShape s = layout.shape;
  const std::uint64_t attention = 2 * s.width * (s.query_width() + s.kv_width()) * 2;
  const std::uint64_t experts = s.experts_used * 3 * s.width * s.ffn * 2;
  const std::uint64_t router_and_norms = (s.experts + 2) * s.width * 4;
  const std::uint64_t head = s.vocabulary * s.width * 2 + s.width * 4;
  EXPECT_EQ(layout.bytes_read_per_token(),
            2 * (attention + experts + router_and_norms) + head + s.width * 2);
}

TEST(Layout, refusesWhatTheDeviceCannotMap) {
  const ModelShape moe = find_shape("moe-small").value();
  const Precision f16 = find_precision("f16").value();
  EXPECT_EQ(plan_layout(moe, f16, 1, 1000).error().kind, ErrorKind::usage);
  EXPECT_EQ(plan_layout(moe, f16, 0, chunk_limit).error().where, "layers_computed");
  EXPECT_EQ(plan_layout(moe, f16, 5, chunk_limit).error().where, "layers_computed");
  ModelShape narrow = find_shape("dense-small").value();
  narrow.width = 250;
  EXPECT_FALSE(plan_layout(narrow, find_precision("int4").value(), 1, chunk_limit));
}

}  // namespace
}  // namespace assay::runtime
