#include "runtime/model/fit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/model/layout.h"

namespace assay::runtime {
namespace {

using testing::HasSubstr;

constexpr std::uint64_t mib = std::uint64_t{1} << 20;
constexpr std::uint64_t gb = 1'000'000'000;

// The board that the suite was built for first: a pool of 24 GiB, of which 23.8 GB can be one
// block, chunks of 1.8 GB, shards in a region aligned to 256 MB.
MappingRules board_rules() {
  return {.contiguous = true,
          .max_run_bytes = 0,
          .max_chunk_bytes = 1'887'436'800,
          .shard_region_bytes = 268'435'456};
}
DeviceMemory board_memory() {
  return {.now = {.free_bytes = 22 * gb, .largest_bytes = 16 * mib},
          .joined = {.free_bytes = 23'800'000'000, .largest_bytes = 23'800'000'000},
          .reservable_bytes = 25'769'803'776};
}

ModelFit fit_of(const char* shape, const char* precision, const MappingRules& rules,
                const DeviceMemory& memory) {
  auto fit = fit_model(find_shape(shape).value(), precision, rules, memory);
  EXPECT_TRUE(fit) << fit.error().text();
  return fit.value_or(ModelFit());
}

std::uint64_t bytes_of(const ModelShape& shape, const char* precision) {
  return plan_layout(shape, find_precision(precision).value(), shape.layers, UINT64_MAX)
      ->mapped_bytes();
}

// The figures of the source: 54 GB as FP16, about 21.3 GB in mixed FP8.
TEST(ModelFit, dense27bDoesNotLoadAsF16AndDoesInMixedFp8AfterDefragmenting) {
  const auto f16 = fit_of("dense-27b", "f16", board_rules(), board_memory());
  EXPECT_EQ(f16.asked.fit, Fit::no);
  EXPECT_NEAR(static_cast<double>(f16.asked.bytes), 54e9, 1e9);
  EXPECT_EQ(f16.asked.failing_mapping, 1U);
  EXPECT_EQ(f16.asked.failing_bytes, f16.asked.bytes);
  ASSERT_NE(f16.way_out(), nullptr);
  EXPECT_EQ(f16.way_out()->precision, "mixed-fp8");

  const auto mixed = fit_of("dense-27b", "mixed-fp8", board_rules(), board_memory());
  EXPECT_EQ(mixed.asked.fit, Fit::after_defragment);
  EXPECT_NEAR(static_cast<double>(mixed.asked.bytes), 21.3e9, 0.1e9);
  EXPECT_EQ(mixed.asked.mappings, 1U);
  EXPECT_THAT(mixed.asked.reason, HasSubstr("one run of 21.3 GB is wanted"));

  EXPECT_EQ(fit_of("dense-27b", "int4", board_rules(), board_memory()).asked.fit,
            Fit::after_defragment);
}

TEST(ModelFit, aMoeLoadsAsItIsBecauseNoMappingIsLargerThanAChunk) {
  const auto fit = fit_of("moe-7b-a2.4b", "f16", board_rules(), board_memory());
  EXPECT_EQ(fit.asked.fit, Fit::yes);
  EXPECT_GT(fit.asked.mappings, 16U * 16U);
  EXPECT_LE(fit.asked.largest_mapping_bytes, board_rules().max_chunk_bytes);
  EXPECT_EQ(fit.asked.failing_mapping, 0U);
}

TEST(ModelFit, aBlockThatIsOneByteTooShortIsTooShort) {
  const std::uint64_t need = bytes_of(find_shape("dense-small").value(), "f16");
  for (const auto& [longest, expected] :
       {std::pair{need, Fit::yes}, std::pair{need - 1, Fit::after_defragment}}) {
    auto memory = board_memory();
    memory.now.largest_bytes = longest;
    EXPECT_EQ(fit_of("dense-small", "f16", board_rules(), memory).asked.fit, expected);
    memory.joined = memory.now;
    memory.reservable_bytes = 0;
    EXPECT_EQ(fit_of("dense-small", "f16", board_rules(), memory).asked.fit,
              expected == Fit::yes ? Fit::yes : Fit::no);
  }
}

TEST(ModelFit, pinnedPagesLeaveShardsAndTheirRegionIsRoundedUp) {
  auto memory = board_memory();
  memory.joined.largest_bytes = 2 * gb;
  const auto fit = fit_of("dense-27b", "mixed-fp8", board_rules(), memory);
  EXPECT_EQ(fit.asked.fit, Fit::sharded);
  // 21.3 GB in shards of 1.89 GB: 12 of them, as the source has it.
  EXPECT_EQ(fit.asked.shards, 12U);

  const std::uint64_t region = (fit.asked.bytes + 268'435'455) / 268'435'456 * 268'435'456;
  memory.reservable_bytes = region;
  EXPECT_EQ(fit_of("dense-27b", "mixed-fp8", board_rules(), memory).asked.fit, Fit::sharded);
  memory.reservable_bytes = region - 1;
  EXPECT_EQ(fit_of("dense-27b", "mixed-fp8", board_rules(), memory).asked.fit, Fit::no);
  auto no_shards = board_rules();
  no_shards.shard_region_bytes = 0;
  EXPECT_EQ(fit_of("dense-27b", "mixed-fp8", no_shards, board_memory()).asked.fit,
            Fit::after_defragment);
  memory.reservable_bytes = region;
  EXPECT_EQ(fit_of("dense-27b", "mixed-fp8", no_shards, memory).asked.fit, Fit::no);
}

// Chunks cannot help: shards are for what is one mapping.
TEST(ModelFit, aMoeThatIsLargerThanThePoolIsNotSharded) {
  auto memory = board_memory();
  memory.now.free_bytes = memory.joined.free_bytes = 10 * gb;
  memory.joined.largest_bytes = 10 * gb;
  const auto fit = fit_of("moe-7b-a2.4b", "f16", board_rules(), memory);
  EXPECT_EQ(fit.asked.fit, Fit::no);
  EXPECT_GT(fit.asked.failing_mapping, 1U);
  EXPECT_THAT(fit.asked.reason, HasSubstr("more are wanted"));
  ASSERT_NE(fit.way_out(), nullptr);
  EXPECT_LE(fit.way_out()->bytes, 10 * gb);
}

TEST(ModelFit, anExpertLargerThanAChunkIsNamed) {
  ModelShape shape = find_shape("moe-small").value();
  auto rules = board_rules();
  const std::uint64_t expert = 3 * tensor_bytes(TensorType::f16, shape.ffn, shape.width).total;
  for (const std::uint64_t chunk : {expert, expert - 1}) {
    rules.max_chunk_bytes = chunk;
    // The embedding is a chunk of its own that must fit as well.
    shape.vocabulary = 256;
    const auto fit = fit_model(shape, "f16", rules, board_memory());
    ASSERT_TRUE(fit);
    EXPECT_EQ(fit->asked.fit, chunk == expert ? Fit::yes : Fit::no) << fit->asked.reason;
    if (chunk == expert) continue;
    EXPECT_EQ(fit->asked.failing_bytes, expert);
    EXPECT_GT(fit->asked.failing_mapping, 0U);
    ASSERT_NE(fit->way_out(), nullptr);
    EXPECT_EQ(fit->way_out()->fit, Fit::yes);
  }
}

// Firmware before large-page DMA: a run is a block of the page allocator at most.
TEST(ModelFit, firmwareThatJoinsNoBlocksBoundsARun) {
  auto rules = board_rules();
  rules.max_run_bytes = 16 * mib;
  const auto model = fit_of("dense-27b", "mixed-fp8", rules, board_memory());
  EXPECT_EQ(model.asked.fit, Fit::sharded);
  EXPECT_THAT(model.asked.reason, HasSubstr("joins none past 16 MiB"));
  EXPECT_EQ(model.way_out(), nullptr);
  EXPECT_EQ(fit_of("moe-7b-a2.4b", "f16", rules, board_memory()).asked.fit, Fit::yes);
}

// An IOMMU maps scattered pages as one.
TEST(ModelFit, aDeviceWithoutTheRuleTakesWhatIsFree) {
  auto rules = board_rules();
  rules.contiguous = false;
  EXPECT_EQ(fit_of("dense-27b", "int4", rules, board_memory()).asked.fit, Fit::yes);
}

TEST(ModelFit, aShapeOrAPrecisionThatIsNoneIsWrongUse) {
  ModelShape shape = find_shape("dense-small").value();
  EXPECT_EQ(fit_model(shape, "fp7", board_rules(), board_memory()).error().kind, ErrorKind::usage);
  shape.width = 0;
  EXPECT_EQ(fit_model(shape, "f16", board_rules(), board_memory()).error().where, "width");
  // int4 groups 32 columns: no way out by it, and no error.
  shape = find_shape("dense-small").value();
  shape.width = 264;
  const auto fit = fit_model(shape, "f16", board_rules(), board_memory());
  ASSERT_TRUE(fit);
  for (const PrecisionFit& other : fit->others) {
    if (other.precision != "int4") continue;
    EXPECT_EQ(other.fit, Fit::no);
    EXPECT_THAT(other.reason, HasSubstr("multiple of 32"));
  }
}

}  // namespace
}  // namespace assay::runtime
