#include "station/run/run_folder.h"

#include <gtest/gtest.h>

#include "tests/support/program.h"

namespace assay::station {
namespace {

constexpr std::int64_t some_time = 1'796'123'456'000'000'000;

TEST(RunFolder, isNamedAfterSerialAndTimeAndNeverUsedTwice) {
  const test::TemporaryFolder out;
  const auto first = make_run_folder(out.path(), "M6-2026-004417", some_time);
  const auto second = make_run_folder(out.path(), "M6-2026-004417", some_time);
  ASSERT_TRUE(first && second);
  EXPECT_EQ(*first, out.path() / "M6-2026-004417-20261201T111056Z");
  EXPECT_EQ(*second, *first + "-2");
}

TEST(RunFolder, noSerialLeadsOutOfTheFolder) {
  for (const std::string serial : {"../../etc", "a/b", "..", ".", "", "\n", "-rf",
                                   "\xF0\x9F\x98\x80", "nul\0byte", "~/x", "C:\\x"}) {
    const std::string name = file_name_of(serial);
    EXPECT_EQ(name.find('/'), std::string::npos) << serial;
    EXPECT_FALSE(name.empty());
    EXPECT_NE(name[0], '.');
  }
  EXPECT_LE(file_name_of(std::string(10'000, 'x')).size(), 65u);
}

}  // namespace
}  // namespace assay::station
