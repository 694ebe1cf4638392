#include "station/config/serial_pattern.h"

#include <gtest/gtest.h>

namespace assay::station {
namespace {

TEST(SerialPattern, matchesTheWholeSerial) {
  EXPECT_TRUE(matches_serial_pattern("^M6-\\d{4}-\\d{6}$", "M6-2026-004417"));
  EXPECT_TRUE(matches_serial_pattern("M6-[0-9]+", "M6-1"));
  for (const char* wrong :
       {"M6-2026-00441", "M6-2026-0044170", " M6-2026-004417", "M6-2026-004417\n", ""}) {
    EXPECT_FALSE(matches_serial_pattern("^M6-\\d{4}-\\d{6}$", wrong)) << wrong;
  }
  EXPECT_FALSE(matches_serial_pattern("(", "("));
}

TEST(SerialPattern, refusesWhatIsNoPatternAndSaysWhy) {
  for (const std::string& pattern :
       {std::string("("), std::string("a{2,1}"), std::string("a{1001}"), std::string("(a)\\1"),
        std::string("(?=a)"), std::string("[z-a]"), std::string(201, 'a'), std::string("\xff"),
        std::string("((((((((((a{100}){100}){100}){100}){100}){100}){100}){100}){100}){100})")}) {
    const auto checked = check_serial_pattern(pattern);
    ASSERT_FALSE(checked) << pattern;
    EXPECT_FALSE(checked.error().what.empty());
  }
}

// Each of them takes a backtracking matcher longer than a life.
TEST(SerialPattern, patternsThatMakeBacktrackingExplodeAreMatchedAtOnce) {
  const std::string serial(120, 'a');
  for (const char* pattern : {"^(a+)+$", "^(a*)*$", "^(a|aa)+$", "^(a|a?)+$", "^(.*a){12}$",
                              "^([a-zA-Z]+)*$", "^(a?){60}a{60}$", "^((a+)+)+b?$"}) {
    EXPECT_FALSE(matches_serial_pattern(pattern, serial + "!")) << pattern;
    (void)matches_serial_pattern(pattern, serial);
  }
}

}  // namespace
}  // namespace assay::station
