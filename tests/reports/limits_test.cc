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

TEST(Limits, contradictionsAreSeen) {
  using enum Comparison;
  struct Case {
    std::vector<std::pair<Comparison, Value>> limits;
    bool possible;
  };
  const Case cases[] = {
      {{}, true},
      {{{greater_or_equal, 4.0}, {less_or_equal, std::int64_t{5}}}, true},
      {{{greater_or_equal, 5.0}, {less_or_equal, std::int64_t{5}}}, true},
      {{{less_or_equal, std::int64_t{4}}, {greater_or_equal, std::int64_t{5}}}, false},
      {{{greater, 5.0}, {less_or_equal, 5.0}}, false},
      {{{greater_or_equal, 5.0}, {less, 5.0}}, false},
      {{{greater_or_equal, 5.0}, {less_or_equal, 5.0}, {not_equal, 5.0}}, false},
      {{{greater_or_equal, 5.0}, {less, 6.0}, {not_equal, 5.0}}, true},
      {{{equal, 5.0}, {greater_or_equal, 4.0}}, true},
      {{{equal, 5.0}, {less, 5.0}}, false},
      {{{equal, 5.0}, {not_equal, std::int64_t{5}}}, false},
      {{{equal, 5.0}, {equal, 6.0}}, false},
  };
  for (const Case& c : cases) {
    std::vector<Validator> validators;
    std::string all;
    for (const auto& [comparison, value] : c.limits) {
      validators.push_back(make_validator(comparison, value, "1"));
      all += validators.back().name + "; ";
    }
    EXPECT_EQ(can_be_satisfied(validators), c.possible) << all;
  }
  const auto version = [](Comparison comparison, const char* text) {
    return make_validator(comparison, std::string(text), "", true);
  };
  EXPECT_TRUE(
      can_be_satisfied(std::vector{version(greater_or_equal, "2.3.1"), version(less, "2.10.0")}));
  EXPECT_FALSE(
      can_be_satisfied(std::vector{version(greater_or_equal, "2.10.0"), version(less, "2.3.1")}));
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
