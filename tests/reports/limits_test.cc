#include "reports/record/limits.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace assay::reports {
namespace {

using C = Comparison;

bool holds(Value value, C comparison, Value limit, bool semver = false) {
  return satisfies(value, make_validator(comparison, std::move(limit), "1", semver));
}

TEST(Limits, compareNumbersWhateverTheirType) {
  EXPECT_TRUE(holds(std::int64_t{4}, C::equal, 4.0));
  EXPECT_TRUE(holds(8.0, C::greater_or_equal, std::int64_t{8}));
  EXPECT_FALSE(holds(7.999, C::greater_or_equal, std::int64_t{8}));
  EXPECT_TRUE(holds(std::int64_t{1}, C::less, 1.5));
  EXPECT_FALSE(holds(std::int64_t{2}, C::less_or_equal, 1.5));
  EXPECT_TRUE(holds(std::int64_t{2}, C::greater, 1.5));
  EXPECT_TRUE(holds(std::int64_t{2}, C::not_equal, 1.5));
}

TEST(Limits, keepWholeNumbersApartThatADoubleCannot) {
  const std::int64_t large = (std::int64_t{1} << 60) + 1;
  EXPECT_FALSE(holds(large, C::equal, large - 1));
  EXPECT_TRUE(holds(large, C::greater, large - 1));
}

TEST(Limits, versionsAreOrderedAsVersions) {
  EXPECT_FALSE(holds("2.1.4-rc3", C::greater_or_equal, "2.3.1", true));
  EXPECT_TRUE(holds("2.10.0", C::greater_or_equal, "2.3.1", true));
  EXPECT_TRUE(holds("2.3.1", C::equal, "2.3.1+build7", true));
  EXPECT_FALSE(holds("garbage", C::greater_or_equal, "2.3.1", true));
  EXPECT_FALSE(holds("garbage", C::not_equal, "2.3.1", true));
}

TEST(Limits, whatCannotBeComparedSatisfiesNothing) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (const C c :
       {C::equal, C::not_equal, C::less, C::less_or_equal, C::greater, C::greater_or_equal}) {
    EXPECT_FALSE(holds(nan, c, 1.0));
    EXPECT_FALSE(holds(1.0, c, nan));
    EXPECT_FALSE(holds("text", c, 1.0));
    EXPECT_FALSE(holds(1.0, c, "text"));
    EXPECT_FALSE(holds(true, c, std::int64_t{1}));
  }
  EXPECT_FALSE(holds("a", C::less, "b"));
}

TEST(Limits, textAndBooleansAreEqualOrNot) {
  EXPECT_TRUE(holds("x4", C::equal, "x4"));
  EXPECT_TRUE(holds("x4", C::not_equal, "x1"));
  EXPECT_TRUE(holds(true, C::equal, true));
  EXPECT_TRUE(holds(true, C::not_equal, false));
}

TEST(Limits, sayThemselvesWithTheirUnit) {
  EXPECT_EQ(make_validator(C::greater_or_equal, 8.0, "GT/s").name, "at least 8 GT/s");
  EXPECT_EQ(make_validator(C::equal, std::int64_t{0}, "1").name, "equal to 0");
}

}  // namespace
}  // namespace assay::reports
