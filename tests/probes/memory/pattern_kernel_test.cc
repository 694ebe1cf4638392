#include "probes/memory/pattern_kernel.h"

#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <new>
#include <random>

#include "probes/memory/memory_test.h"

namespace assay::probes {
namespace {

// Words with one cache line of guard on each side, aligned to 64 bytes.
class GuardedWords {
 public:
  explicit GuardedWords(std::size_t bytes)
      : size_(bytes), memory_(static_cast<std::byte*>(::operator new(bytes + 128, alignment))) {
    std::memset(memory_, 0x5C, bytes + 128);
  }
  ~GuardedWords() { ::operator delete(memory_, alignment); }
  GuardedWords(const GuardedWords&) = delete;
  GuardedWords& operator=(const GuardedWords&) = delete;

  std::span<std::byte> bytes() const { return {memory_ + 64, size_}; }
  std::uint64_t word(std::size_t i) const {
    std::uint64_t value = 0;
    std::memcpy(&value, memory_ + 64 + i * 8, 8);
    return value;
  }
  void flip(std::size_t i, std::uint64_t mask) const {
    const std::uint64_t value = word(i) ^ mask;
    std::memcpy(memory_ + 64 + i * 8, &value, 8);
  }
  bool guards_whole() const {
    for (std::size_t i = 0; i < 64; ++i) {
      if (memory_[i] != std::byte{0x5C} || memory_[64 + size_ + i] != std::byte{0x5C}) return false;
    }
    return true;
  }

 private:
  static constexpr std::align_val_t alignment{64};
  std::size_t size_;
  std::byte* memory_;
};

constexpr std::uint64_t patterns[] = {0, ~std::uint64_t{0}, 0xAAAAAAAAAAAAAAAA, 0x0123456789ABCDEF};

TEST(PatternKernel, fillsEveryWordAndNothingElse) {
  // Multiples of a cache line that are none of the kernel's steps are among them.
  for (std::size_t lines = 1; lines <= 67; ++lines) {
    const GuardedWords words(lines * 64);
    for (const std::uint64_t pattern : patterns) {
      fill_pattern(words.bytes(), pattern);
      for (std::size_t i = 0; i < lines * 8; ++i) ASSERT_EQ(words.word(i), pattern) << lines;
      std::vector<Mismatch> mismatches;
      ASSERT_EQ(verify_pattern(words.bytes(), pattern, mismatches, 10), 0U);
      ASSERT_TRUE(mismatches.empty());
    }
    ASSERT_TRUE(words.guards_whole()) << lines;
  }
}

TEST(PatternKernel, findsEverySingleBitAtItsPlace) {
  // One more line than the widest step of any instruction set, so that its rest is in it too.
  constexpr std::size_t bytes = 8 * 64 + 64;
  const GuardedWords words(bytes);
  constexpr std::uint64_t pattern = 0x0123456789ABCDEF;
  fill_pattern(words.bytes(), pattern);
  for (std::size_t word = 0; word < bytes / 8; ++word) {
    for (int bit = 0; bit < 64; ++bit) {
      const std::uint64_t mask = std::uint64_t{1} << bit;
      words.flip(word, mask);
      std::vector<Mismatch> mismatches;
      ASSERT_EQ(verify_pattern(words.bytes(), pattern, mismatches, 10), 1U) << word << " " << bit;
      ASSERT_EQ(mismatches.size(), 1U);
      ASSERT_EQ(mismatches[0].offset, word * 8);
      ASSERT_EQ(mismatches[0].actual, pattern ^ mask);
      words.flip(word, mask);
    }
  }
}

TEST(PatternKernel, findsTheSameAsAPlainLoop) {
  std::mt19937_64 random(5);
  for (int round = 0; round < 500; ++round) {
    const std::size_t count = 8 * (1 + random() % 100);
    const GuardedWords words(count * 8);
    const std::uint64_t pattern = random();
    fill_pattern(words.bytes(), pattern);
    for (std::uint64_t flips = random() % 40; flips > 0; --flips) {
      words.flip(random() % count, random());
    }
    std::vector<Mismatch> expected;
    for (std::size_t i = 0; i < count; ++i) {
      if (words.word(i) != pattern) expected.push_back({i * 8, words.word(i)});
    }
    std::vector<Mismatch> found;
    ASSERT_EQ(verify_pattern(words.bytes(), pattern, found, 1000), expected.size());
    ASSERT_EQ(found.size(), expected.size());
    for (std::size_t i = 0; i < found.size(); ++i) {
      ASSERT_EQ(found[i].offset, expected[i].offset);
      ASSERT_EQ(found[i].actual, expected[i].actual);
    }
  }
}

TEST(PatternKernel, countsAllAndReportsSome) {
  const GuardedWords words(1 << 16);
  fill_pattern(words.bytes(), 0);
  std::vector<Mismatch> mismatches;
  EXPECT_EQ(verify_pattern(words.bytes(), ~std::uint64_t{0}, mismatches, 100), (1U << 16) / 8);
  EXPECT_EQ(mismatches.size(), 100U);
  // What was there already counts towards the limit.
  EXPECT_EQ(verify_pattern(words.bytes(), ~std::uint64_t{0}, mismatches, 100), (1U << 16) / 8);
  EXPECT_EQ(mismatches.size(), 100U);
  std::vector<Mismatch> none;
  EXPECT_EQ(verify_pattern(words.bytes(), ~std::uint64_t{0}, none, 0), (1U << 16) / 8);
  EXPECT_TRUE(none.empty());
}

TEST(PatternKernel, namesItsInstructionSet) {
  EXPECT_STRNE(pattern_kernel_target(), "");
}

TEST(Pattern, isRepeatedTo64Bits) {
  EXPECT_EQ(parse_pattern("0xA5"), 0xA5A5A5A5A5A5A5A5);
  EXPECT_EQ(parse_pattern("0x00FF"), 0x00FF00FF00FF00FF);
  EXPECT_EQ(parse_pattern("0xAAAAAAAA"), 0xAAAAAAAAAAAAAAAA);
  EXPECT_EQ(parse_pattern("0x12345678"), 0x1234567812345678);
  EXPECT_EQ(parse_pattern("0X0123456789abcdef"), 0x0123456789ABCDEF);
  EXPECT_EQ(parse_pattern("0x00000000"), 0U);
}

TEST(Pattern, ofAnotherLengthOrWithoutHexIsRefused) {
  for (const char* text :
       {"", "0x", "0xA", "0xAAA", "0xAAAAA", "0xAAAAAAAAA", "AAAAAAAA", "0xGG", "0x-1", "0xAA ",
        " 0xAA", "0xA\n", "0xAAAAAAAAAAAAAAAAA", "march-c", "0x0x0000"}) {
    const auto pattern = parse_pattern(text);
    ASSERT_FALSE(pattern) << text;
    EXPECT_EQ(pattern.error().kind, ErrorKind::usage);
  }
}

}  // namespace
}  // namespace assay::probes
