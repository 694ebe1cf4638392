#include "runtime/engine/latency.h"

#include <gtest/gtest.h>

#include <vector>

namespace assay::runtime {
namespace {

TEST(Percentile, isTheNearestRank) {
  const std::vector<std::int64_t> values = {50, 15, 40, 20, 35};
  EXPECT_EQ(percentile(values, 5), 15);
  EXPECT_EQ(percentile(values, 30), 20);
  EXPECT_EQ(percentile(values, 40), 20);
  EXPECT_EQ(percentile(values, 50), 35);
  EXPECT_EQ(percentile(values, 99), 50);
  EXPECT_EQ(percentile(values, 100), 50);
  EXPECT_EQ(percentile(std::vector<std::int64_t>{7}, 50), 7);
  EXPECT_EQ(percentile({}, 50), 0);
}

}  // namespace
}  // namespace assay::runtime
