#include "probes/memory/algorithm.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <set>

namespace assay::probes {
namespace {

using testing::HasSubstr;

// Operations for each cell, as published: MATS+ 5N ... March SS 22N.
TEST(Algorithm, marchTestsHaveTheirPublishedLength) {
  const std::pair<const char*, std::size_t> lengths[] = {
      {"mats+", 5},    {"march-x", 6},  {"march-y", 8},   {"march-c-", 10},
      {"march-a", 15}, {"march-b", 17}, {"march-lr", 14}, {"march-ss", 22}};
  for (const auto& [name, length] : lengths) {
    const auto test = make_algorithm(name, {.backgrounds = 1});
    ASSERT_TRUE(test);
    std::size_t operations = 0;
    for (const Element& element : test->elements) operations += element.operations.size();
    EXPECT_EQ(operations, length) << name;
    EXPECT_EQ(to_notation(test->elements), test->notation) << name;
  }
}

TEST(Algorithm, everyReadExpectsWhatWasWrittenLast) {
  for (const std::string& name : algorithm_names()) {
    const auto test = make_algorithm(name);
    ASSERT_TRUE(test) << name;
    int held = -1;
    for (const Element& element : test->elements) {
      EXPECT_LE(element.operations.size(), max_operations);
      for (const Operation& op : element.operations) {
        ASSERT_LT(op.data, test->data.size()) << name;
        if (op.write) {
          held = op.data;
        } else {
          EXPECT_EQ(op.data, held) << name << " " << to_notation({element});
        }
      }
    }
  }
}

// What the backgrounds hold in a bit of a line, one bit for each of them.
unsigned signature(const Algorithm& test, unsigned bit) {
  unsigned all = 0;
  for (std::size_t i = 0; i < test.data.size(); ++i) {
    all |= static_cast<unsigned>((word_of(test.data[i], bit / 64, 0) >> (bit % 64)) & 1) << i;
  }
  return all;
}

TEST(Algorithm, sevenBackgroundsTellAnyTwoBitsOfAWordApartTenAnyTwoOfALine) {
  for (const auto& [backgrounds, bits] : {std::pair(7U, 64U), std::pair(10U, 512U)}) {
    const auto test = make_algorithm("march-c-", {.backgrounds = backgrounds});
    std::set<unsigned> signatures;
    for (unsigned bit = 0; bit < bits; ++bit) signatures.insert(signature(*test, bit));
    EXPECT_EQ(signatures.size(), bits);
    // And no fewer do.
    EXPECT_EQ(1U << (backgrounds - 1), bits);
  }
}

TEST(Algorithm, aMarchTestsOneIsItsBackgroundInverted) {
  const auto test = make_algorithm("march-c-");
  ASSERT_EQ(test->data.size(), 2 * most_backgrounds);
  for (std::size_t i = 0; i < test->data.size(); i += 2) {
    EXPECT_EQ(word_of(test->data[i], 5, 0), ~word_of(test->data[i + 1], 5, 0));
  }
}

TEST(Algorithm, walkingBitsVisitEveryBit) {
  std::uint64_t ones = 0;
  const auto walking_ones = make_algorithm("walking-ones");
  for (const Background& data : walking_ones->data) {
    EXPECT_EQ(std::popcount(word_of(data, 7, 64)), 1);
    ones |= word_of(data, 7, 64);
  }
  EXPECT_EQ(ones, ~std::uint64_t{0});
  const auto walking_zeros = make_algorithm("walking-zeros");
  for (const Background& data : walking_zeros->data) {
    EXPECT_EQ(std::popcount(word_of(data, 7, 64)), 63);
  }
}

TEST(Algorithm, patternsOfAnyWidthFillTheWord) {
  const std::pair<const char*, std::uint64_t> patterns[] = {
      {"0xA5", 0xA5A5A5A5A5A5A5A5},
      {"0x1234", 0x1234123412341234},
      {"0xDEADBEEF", 0xDEADBEEFDEADBEEF},
      {"0X0123456789abcdef", 0x0123456789ABCDEF},
  };
  for (const auto& [name, word] : patterns) {
    const auto alone = make_algorithm(name);
    ASSERT_TRUE(alone) << name;
    ASSERT_EQ(alone->data.size(), 1U);
    EXPECT_EQ(word_of(alone->data[0], 3, 0), word);
    const auto both = make_algorithm(std::string(name) + "~");
    ASSERT_TRUE(both);
    ASSERT_EQ(both->data.size(), 2U);
    EXPECT_EQ(word_of(both->data[1], 3, 0), ~word);
  }
  for (const char* wrong : {"", "0x", "0x1", "0x123", "AAAA", "0xAAAAAAAAAAAAAAAAA", "0x-1", "0x+1",
                            "0x 1", "march", "0x12~~", "~"}) {
    const auto refused = make_algorithm(wrong);
    ASSERT_FALSE(refused) << wrong;
    EXPECT_EQ(refused.error().kind, ErrorKind::usage);
  }
  EXPECT_THAT(make_algorithm("march-z").error().hint, HasSubstr("march-ss"));
}

TEST(Algorithm, wordsKnowTheirOwnAddressAndRandomOnesDiffer) {
  const Background address{.kind = Background::Kind::address};
  for (const std::uint64_t index : {0, 1, 7, 8, 1000}) {
    EXPECT_EQ(word_of(address, index, 0x7F00'0000'0000), 0x7F00'0000'0000 + index * 8);
  }
  const Background random{.kind = Background::Kind::random, .value = 1};
  std::set<std::uint64_t> seen;
  std::uint64_t ones = 0;
  constexpr std::uint64_t words = 4096;
  for (std::uint64_t i = 0; i < words; ++i) {
    const std::uint64_t word = word_of(random, i, 0);
    seen.insert(word);
    ones += static_cast<std::uint64_t>(std::popcount(word));
    EXPECT_EQ(word, word_of(random, i, 4096)) << "whatever the address";
  }
  EXPECT_EQ(seen.size(), words);
  EXPECT_NEAR(static_cast<double>(ones) / (words * 64), 0.5, 0.01);
  EXPECT_NE(word_of(random, 5, 0), word_of({.kind = Background::Kind::random, .value = 2}, 5, 0));
}

TEST(Algorithm, aCheckerboardHasOppositeNeighbours) {
  const Background board{.kind = Background::Kind::checkerboard};
  EXPECT_EQ(word_of(board, 0, 0), ~word_of(board, 1, 0));
  EXPECT_EQ(word_of(board, 0, 0), ~word_of(board, words_per_line, 0));
  EXPECT_EQ(word_of(board, 0, 0), 0x5555555555555555U);
}

TEST(Algorithm, moduloTwentyChoosesEachTwentiethWord) {
  const auto test = make_algorithm("modulo-20");
  for (std::size_t d = 0; d < test->data.size(); ++d) {
    const Background& data = test->data[d];
    for (std::uint64_t i = 0; i < 200; ++i) {
      const std::uint64_t chosen = data.inverted ? ~data.value : data.value;
      EXPECT_EQ(word_of(data, i, 0), i % 20 == data.offset ? chosen : ~chosen);
    }
  }
}

TEST(Algorithm, aMarchIsReadInItsNotationAndNothingElse) {
  const auto elements = parse_march("⇕(w0);⇑(r0,w1);⇓(r1,w0,r0)");
  ASSERT_TRUE(elements);
  ASSERT_EQ(elements->size(), 3U);
  EXPECT_EQ((*elements)[2].order, Order::down);
  EXPECT_EQ(to_notation(*elements), "⇕(w0);⇑(r0,w1);⇓(r1,w0,r0)");
  EXPECT_TRUE(cache_hides_some((*elements)[2]));
  EXPECT_FALSE(cache_hides_some((*elements)[1]));
  for (const char* wrong : {"", "⇕", "⇕()", "(w0)", "⇕(w2)", "⇕(x0)", "⇕(w0", "⇕(w0);",
                            "⇕(w0)⇑(r0)", "⇕(w0,)", "⇕(w0,w0,w0,w0,w0,w0,w0,w0,w0)"}) {
    EXPECT_FALSE(parse_march(wrong)) << wrong;
  }
}

}  // namespace
}  // namespace assay::probes
