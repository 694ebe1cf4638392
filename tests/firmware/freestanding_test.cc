#include <gtest/gtest.h>

#include <cstdio>
#include <set>
#include <sstream>
#include <string>

namespace {

// What GCC and clang may call even in freestanding code, and what a bare-metal port provides.
const std::set<std::string> allowed = {"memcpy", "memmove", "memset", "memcmp"};

TEST(FirmwareCore, needsNothingOfTheHost) {
  FILE* nm = ::popen(ASSAY_NM " -u " ASSAY_FIRMWARE_CORE, "r");
  ASSERT_NE(nm, nullptr);
  std::string text;
  for (int c = 0; (c = std::fgetc(nm)) != EOF;) text += static_cast<char>(c);
  ASSERT_EQ(::pclose(nm), 0);
  EXPECT_NE(text.find("at_server"), std::string::npos) << text;

  std::istringstream words(text);
  for (std::string word; words >> word;) {
    if (word == "U" || word.ends_with(":")) continue;
    EXPECT_TRUE(allowed.contains(word)) << word;
  }
}

}  // namespace
