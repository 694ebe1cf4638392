#include "runtime/quant/weight_statistics.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

namespace assay::runtime {
namespace {

WeightStatistics of(const std::vector<float>& weights, unsigned threads = 2) {
  WorkerPool pool(threads);
  const CancelToken cancel;
  const auto bytes = std::as_bytes(std::span(weights));
  return weight_statistics(GgufType::f32, bytes, pool, cancel).value();
}

TEST(WeightStatistics, areOfAllFiniteWeights) {
  constexpr float nan = std::numeric_limits<float>::quiet_NaN();
  constexpr float infinite = std::numeric_limits<float>::infinity();
  const WeightStatistics all = of({3, nan, -4, 0, infinite, -infinite, 0});
  EXPECT_EQ(all.count, 7U);
  EXPECT_EQ(all.not_finite, 3U);
  EXPECT_EQ(all.zeros, 2U);
  EXPECT_DOUBLE_EQ(all.rms, 2.5);  // of 9, 16, 0, 0
  EXPECT_EQ(all.least, -4);
  EXPECT_EQ(all.most, 3);
  const WeightStatistics positive = of({nan, 5, 2});
  EXPECT_EQ(positive.least, 2);
  EXPECT_EQ(positive.most, 5);
  const WeightStatistics none = of({nan});
  EXPECT_EQ(none.not_finite, 1U);
  EXPECT_EQ(none.rms, 0);
}

// More than one piece, and a last one that is shorter; the largest stands in it.
TEST(WeightStatistics, areTheSameWhateverTheThreads) {
  std::vector<float> weights((std::size_t{5} << 19) + 77);
  for (std::size_t i = 0; i < weights.size(); ++i) {
    weights[i] = std::sin(static_cast<float>(i)) * 0.1F;
  }
  weights.back() = 7;
  const WeightStatistics one = of(weights, 1);
  const WeightStatistics three = of(weights, 3);
  EXPECT_EQ(one.count, weights.size());
  EXPECT_EQ(one.most, 7);
  EXPECT_EQ(one.rms, three.rms);
  EXPECT_EQ(one.least, three.least);
  EXPECT_NEAR(one.rms, std::sqrt(0.005 + 49.0 / static_cast<double>(weights.size())), 1e-5);
}

TEST(WeightStatistics, endWhenTheyAreCancelled) {
  const std::vector<float> weights(100);
  WorkerPool pool(2);
  CancelToken cancel;
  cancel.cancel();
  const auto none =
      weight_statistics(GgufType::f32, std::as_bytes(std::span(weights)), pool, cancel);
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().kind, ErrorKind::cancelled);
}

}  // namespace
}  // namespace assay::runtime
