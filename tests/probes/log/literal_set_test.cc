#include "probes/log/literal_set.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <set>
#include <string>
#include <vector>

namespace assay::probes {
namespace {

std::set<std::size_t> found_by(const LiteralSet& set, std::string_view line) {
  std::set<std::size_t> found;
  set.each(line, [&](std::size_t index) {
    found.insert(index);
    return false;
  });
  return found;
}

TEST(LiteralSet, findsEachTextWhereverItStands) {
  const std::string_view texts[] = {"EDAC MC", "page allocation failure", "swiotlb buffer is full",
                                    "EDAC MC0: 1 UE"};
  const LiteralSet set(texts);
  EXPECT_EQ(set.shortest(), 7U);
  EXPECT_EQ(found_by(set, "EDAC MC"), (std::set<std::size_t>{0}));
  EXPECT_EQ(found_by(set, "xEDAC MC0: 1 UE on a"), (std::set<std::size_t>{0, 3}));
  EXPECT_EQ(found_by(set, "swiotlb buffer is full, EDAC MC"), (std::set<std::size_t>{0, 2}));
  for (const char* none : {"", "E", "EDAC M", "edac mc", "page allocation failur", "EDAC\0MC"}) {
    EXPECT_TRUE(found_by(set, none).empty()) << none;
  }
}

TEST(LiteralSet, stopsWhenItIsTold) {
  const std::string_view texts[] = {"abcd", "abcde"};
  const LiteralSet set(texts);
  int calls = 0;
  EXPECT_TRUE(set.each("abcdeabcde", [&](std::size_t) { return ++calls == 3; }));
  EXPECT_EQ(calls, 3);
  EXPECT_FALSE(set.each("abcdeabcde", [](std::size_t) { return false; }));
}

// Against a search for one text after another, over few letters, so that texts overlap a lot.
TEST(LiteralSet, findsWhatAPlainSearchFinds) {
  std::mt19937 random(20261203);
  const auto text_of = [&](std::size_t length) {
    std::string text;
    for (std::size_t i = 0; i < length; ++i) text += static_cast<char>('a' + random() % 3);
    return text;
  };
  std::size_t hits = 0;
  for (int round = 0; round < 300; ++round) {
    std::vector<std::string> texts;
    for (int i = 0; i < 12; ++i) texts.push_back(text_of(LiteralSet::block_bytes + random() % 6));
    const std::vector<std::string_view> views(texts.begin(), texts.end());
    const LiteralSet set(views);
    for (int lines = 0; lines < 20; ++lines) {
      const std::string line = text_of(random() % 60);
      std::set<std::size_t> expected;
      for (std::size_t i = 0; i < texts.size(); ++i) {
        if (line.find(texts[i]) != std::string::npos) expected.insert(i);
      }
      EXPECT_EQ(found_by(set, line), expected) << line;
      hits += expected.size();
    }
  }
  EXPECT_GT(hits, 1000U);
}

}  // namespace
}  // namespace assay::probes
