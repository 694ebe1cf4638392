#include <gtest/gtest.h>

#include <cstdio>
#include <set>
#include <sstream>
#include <string>

namespace {

// What GCC and clang may call even in freestanding code, and what a bare-metal port provides.
const std::set<std::string> allowed = {"memcpy", "memmove", "memset", "memcmp"};

TEST(FirmwareCore, needsNothingOfTheHost) {
  // "U name" is asked for; "0000 T name" (or W, R, D, B) is there.
  FILE* nm = ::popen(ASSAY_NM " " ASSAY_FIRMWARE_CORE, "r");
  ASSERT_NE(nm, nullptr);
  std::string text;
  for (int c = 0; (c = std::fgetc(nm)) != EOF;) text += static_cast<char>(c);
  ASSERT_EQ(::pclose(nm), 0);
  EXPECT_NE(text.find("AtServer"), std::string::npos) << text;

  std::set<std::string> wanted;
  std::set<std::string> given;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string first;
    std::string second;
    std::string third;
    words >> first >> second >> third;
    if (first == "U") wanted.insert(second);
    if (!third.empty()) given.insert(third);
  }
  EXPECT_FALSE(given.empty());
  for (const std::string& name : wanted) {
    EXPECT_TRUE(allowed.contains(name) || given.contains(name)) << name;
  }
}

}  // namespace
