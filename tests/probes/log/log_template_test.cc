#include "probes/log/log_template.h"

#include <gtest/gtest.h>

namespace assay::probes {
namespace {

TEST(LogTemplate, saysNumbersInWords) {
  const LogFields fields{
      {"order", "9"}, {"pages", "2025"}, {"size", "6422528"}, {"kb", "4096"}, {"errno", "-12"}};
  EXPECT_EQ(fill_in("{order|order}", fields, 4096), "order 9 = 512 pages of 4 KiB = 2 MiB");
  EXPECT_EQ(fill_in("{order|order}", fields, 65536), "order 9 = 512 pages of 64 KiB = 32 MiB");
  EXPECT_EQ(fill_in("{pages|pages}", fields, 16384), "2025 pages of 16 KiB = 32 MiB");
  EXPECT_EQ(fill_in("{size|bytes}", fields, 4096), "6 MiB (6422528 bytes)");
  EXPECT_EQ(fill_in("{kb|kib}", fields, 4096), "4 MiB");
  EXPECT_EQ(fill_in("{errno|errno}", fields, 4096), "Cannot allocate memory (-12)");
}

TEST(LogTemplate, leavesOutAPartWithoutItsField) {
  EXPECT_EQ(fill_in("a[ {x} b[ {y}]", {{"x", "1"}}, 4096), "a 1 b");
  EXPECT_EQ(fill_in("a[ {x}] c[ {y}]", {{"y", "2"}}, 4096), "a c 2");
  EXPECT_EQ(fill_in("", {}, 4096), "");
}

TEST(LogTemplate, aFieldIsTakenAsItIs) {
  EXPECT_EQ(fill_in("{x|bytes} {x|order} {x|errno}", {{"x", "a{x}[b]"}}, 4096),
            "a{x}[b] a{x}[b] error a{x}[b]");
}

TEST(LogTemplate, numbersThatDoNotFitStayText) {
  EXPECT_EQ(fill_in("{x|bytes}", {{"x", "99999999999999999999999"}}, 4096),
            "99999999999999999999999");
  EXPECT_EQ(fill_in("{x|order}", {{"x", "64"}}, 4096), "order 64");
  EXPECT_EQ(multiplied(UINT64_MAX, 2), UINT64_MAX);
  EXPECT_EQ(bytes_of_order(63, 4096), UINT64_MAX);
  EXPECT_EQ(bytes_of_order(9, 4096), std::uint64_t{2} << 20);
}

}  // namespace
}  // namespace assay::probes
