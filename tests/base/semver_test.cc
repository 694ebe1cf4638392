#include "base/semver.h"

#include <gtest/gtest.h>

#include <vector>

namespace assay {
namespace {

SemanticVersion version(std::string_view text) {
  const auto parsed = parse_semantic_version(text);
  EXPECT_TRUE(parsed) << text;
  return parsed.value_or(SemanticVersion{});
}

TEST(SemanticVersion, ordersReleasesCandidatesAndNumbers) {
  // The first chain is the board's own; the second stands in semver.org 2.0.0, section 11.
  const char* chains[][9] = {
      {"2.1.4-rc3", "2.1.4-rc10", "2.1.4", "2.1.10", "2.3.1", "2.10.0", "10.0.0", nullptr},
      {"1.0.0-alpha", "1.0.0-alpha.1", "1.0.0-alpha.beta", "1.0.0-beta", "1.0.0-beta.2",
       "1.0.0-beta.11", "1.0.0-rc.1", "1.0.0", nullptr}};
  for (const auto& chain : chains) {
    for (int i = 0; chain[i]; ++i) {
      for (int j = 0; chain[j]; ++j) {
        EXPECT_EQ(version(chain[i]) <=> version(chain[j]), i <=> j) << chain[i] << " " << chain[j];
      }
    }
  }
}

TEST(SemanticVersion, ignoresBuildInTheOrder) {
  EXPECT_EQ(version("2.3.1+abc"), version("2.3.1+def"));
  EXPECT_EQ(version("2.3.1-rc1+abc.1").text(), "2.3.1-rc1+abc.1");
}

TEST(SemanticVersion, refusesWhatIsNotOne) {
  for (const char* text : {"", "2", "2.3", "2.3.", "v2.3.1", "2.3.1-", "2.3.1-a..b", "2.3.1+",
                           "2.3.1 ", "-1.0.0", "2.3.99999999999999999999999", "2.3.1\n"}) {
    EXPECT_FALSE(parse_semantic_version(text)) << text;
  }
  EXPECT_FALSE(parse_semantic_version("1.0.0-" + std::string(200, 'a')));
}

// Sections 2 and 9: of numbers, in the core and in a pre-release. Not of other identifiers, and not
// of a build (section 10).
TEST(SemanticVersion, numbersHaveNoLeadingZeros) {
  for (const char* text : {"01.2.3", "1.02.3", "1.2.03", "00.1.2", "1.2.3-01", "1.2.3-rc.007"}) {
    EXPECT_FALSE(parse_semantic_version(text)) << text;
  }
  for (const char* text : {"0.0.0", "10.20.30", "1.2.3-0", "1.2.3-rc01", "1.2.3-0a", "1.2.3-0-1",
                           "1.2.3+001", "2.1.4-rc3"}) {
    EXPECT_EQ(version(text).text(), text);
  }
}

TEST(SemanticVersion, theOrderIsOneOrder) {
  // Letters, digits and both in a row: each pair has one order, and no three go round in a circle.
  std::vector<SemanticVersion> all;
  for (const char* prerelease :
       {"rc", "rc1", "rc01", "rc3",  "rc10",  "rc1a", "rc0a", "rc-", "rc-1", "rc1-", "1",
        "10", "0",   "a",    "a1b2", "a1b10", "-",    "-1",   "A1",  "rc.1", "rc1.1"}) {
    all.push_back(version(std::string("1.0.0-") + prerelease));
  }
  for (const auto& a : all) {
    for (const auto& b : all) {
      ASSERT_EQ(a <=> b, 0 <=> (b <=> a)) << a.text() << " " << b.text();
      for (const auto& c : all) {
        if (a < b && b < c) {
          ASSERT_LT(a, c) << a.text() << " " << b.text() << " " << c.text();
        }
        if (a == b) {
          ASSERT_EQ(a <=> c, b <=> c) << a.text() << " " << b.text() << " " << c.text();
        }
      }
    }
  }
}

}  // namespace
}  // namespace assay
