#include "probes/memory/error_log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>

namespace assay::probes {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

MemoryError error(std::uint64_t offset, std::uint64_t flipped, std::uint64_t pass = 1) {
  MemoryError e{.offset = offset, .address = 0x7000'0000 + offset, .pass = pass};
  e.expected = 0x5555555555555555;
  e.actual = e.expected ^ flipped;
  return e;
}

TEST(ErrorLog, countsByBitLaneAndWord) {
  ErrorLog log;
  EXPECT_EQ(log.likely_cause(), "");
  log.add(error(8, 0x101, 1));
  log.add(error(8, 0x100, 2));
  log.add(error(4096, std::uint64_t{1} << 63, 2));
  EXPECT_EQ(log.addresses(), "2 addresses");
  EXPECT_TRUE(log.has_all_words());
  log.add_uncounted(7);
  EXPECT_EQ(log.errors(), 10U);
  EXPECT_EQ(log.flipped(), 0x8000000000000101U);
  EXPECT_EQ(log.addresses(), "2 or more addresses");
  EXPECT_FALSE(log.has_all_words());
  EXPECT_EQ(log.uncounted(), 7U);
  EXPECT_EQ(log.by_bit()[0], 1U);
  EXPECT_EQ(log.by_bit()[8], 2U);
  EXPECT_THAT(log.by_byte_lane(), ElementsAre(1, 2, 0, 0, 0, 0, 0, 1));
  EXPECT_EQ(log.words().at({1, 8}).passes, 2U);
  EXPECT_EQ(log.words().at({1, 8}).flipped, 0x101U);
}

TEST(ErrorLog, severalErrorsOfOnePassAreOnePass) {
  ErrorLog log;
  for (int i = 0; i < 5; ++i) log.add(error(8, 1, 3));
  EXPECT_EQ(log.words().at({1, 8}).passes, 1U);
  EXPECT_EQ(log.words().at({1, 8}).errors, 5U);
}

// Each region counts its passes anew.
TEST(ErrorLog, theSameNumberInAnotherRegionIsAnotherPass) {
  ErrorLog log;
  for (const std::uint64_t region : {1, 2, 3}) {
    MemoryError e = error(64, 1, 5);
    e.region = region;
    e.physical = 0x84e190008;
    log.add(e);
  }
  EXPECT_EQ(log.words().begin()->second.passes, 3U);
}

TEST(ErrorLog, wordsBeyondThoseKeptAreNotForgotten) {
  ErrorLog log;
  for (std::size_t i = 0; i < ErrorLog::most_words; ++i) log.add(error(8 * i, 1));
  EXPECT_EQ(log.addresses(), "1000 addresses");
  log.add(error(0, 1));
  EXPECT_TRUE(log.has_all_words());
  log.add(error(8 * ErrorLog::most_words, 1));
  EXPECT_EQ(log.addresses(), "1000 or more addresses");
}

// Where each iteration takes other pages, offsets are other words, and one physical cell comes back
// at another offset.
TEST(ErrorLog, aWordIsKnownByItsPhysicalAddressElseByItsRegion) {
  ErrorLog unknown;
  ErrorLog known;
  for (const std::uint64_t region : {0, 1}) {
    MemoryError e = error(64, 1, region + 1);
    e.region = region;
    unknown.add(e);
    e.offset += region * 4096;
    e.physical = 0x84e190008;
    known.add(e);
  }
  EXPECT_EQ(unknown.words().size(), 2U);
  ASSERT_EQ(known.words().size(), 1U);
  EXPECT_EQ(known.words().begin()->second.passes, 2U);
}

TEST(ErrorLog, theVerdictOfAWordFollowsItsRetest) {
  ErrorLog log;
  const auto verdict = [&](unsigned failed, std::uint64_t passes) {
    return log.verdict_of(BadWord{.errors = 2,
                                  .passes = passes,
                                  .last_iteration = 1,
                                  .retest = {.rounds = 16, .failed = failed}});
  };
  EXPECT_EQ(verdict(16, 1), WordVerdict::hard);
  EXPECT_EQ(verdict(1, 1), WordVerdict::intermittent);
  EXPECT_EQ(verdict(15, 9), WordVerdict::intermittent);
  EXPECT_EQ(verdict(0, 2), WordVerdict::disturbed);
  for (const auto& [held, verdict_of_it] :
       {std::pair{2U, WordVerdict::retention}, {1U, WordVerdict::disturbed}}) {
    EXPECT_EQ(log.verdict_of(
                  BadWord{.errors = 2, .held_errors = held, .passes = 2, .retest = {.rounds = 16}}),
              verdict_of_it);
  }
  // Soft only when what it failed in ran once more, on the same memory.
  EXPECT_EQ(verdict(0, 1), WordVerdict::once);
  log.add_iteration(0, 1);
  log.add_iteration(1, 2);
  EXPECT_EQ(verdict(0, 1), WordVerdict::once);
  log.add_iteration(0, 2);
  EXPECT_EQ(verdict(0, 1), WordVerdict::soft);
  // Without a retest nothing is known of it.
  for (const std::uint64_t passes : {1, 2}) {
    EXPECT_EQ(log.verdict_of(BadWord{.passes = passes, .last_iteration = 1}), WordVerdict::unknown);
  }
}

TEST(ErrorLog, namesTheSimplestCauseThatExplainsAll) {
  struct Case {
    std::vector<MemoryError> errors;
    const char* says;
  };
  constexpr std::uint64_t far = 64 << 20;
  // At five places, as far from each other.
  const auto at_five = [&](std::array<std::uint64_t, 5> flipped) {
    std::vector<MemoryError> all;
    for (const std::uint64_t bits : flipped) all.push_back(error(all.size() * far, bits));
    return all;
  };
  const Case cases[] = {
      {{error(8, 0x10)}, "one bit (bit 4) that failed once"},
      {{error(8, 0x10, 1), error(8, 0x10, 2)},
       "one bit (bit 4) that failed in 2 passes and in none of 16 tries alone: coupling"},
      {{error(8, 0x30)}, "2 bits of one word"},
      {at_five({0x200, 0x200, 0x200, 0x200, 0x200}), "one data line (bit 9) at 5 addresses"},
      {at_five({0x200, 0x8000, 0x200, 0x100, 0x200}), "one byte lane (1) at 5 addresses"},
      {{error(0, 0x1), error(512, 0x8000)}, "one region of 520 bytes"},
      // A line that reaches two cells alone is two cells.
      {{error(0, 0x200, 1), error(far, 0x200, 1), error(0, 0x200, 2)},
       "separate faults: one bit (bit 9) that failed in 2 passes and in none of 16 tries alone: "
       "coupling, when its neighbours are written, or a weak cell that fails seldom; one bit (bit "
       "9) "
       "that failed once and never alone: a soft error"},
      {at_five({0x1, 0x8000, 1, 1, 1}), "all over"},
  };
  for (const Case& c : cases) {
    ErrorLog log;
    for (const MemoryError& e : c.errors) log.add(e);
    std::vector<WordKey> keys;
    for (const auto& [key, word] : log.words()) keys.push_back(key);
    for (const WordKey& key : keys) log.word(key).retest = {.rounds = 16};
    EXPECT_THAT(log.likely_cause(), HasSubstr(c.says));
  }
}

// Pages lie where the kernel put them: two words that an address line makes one are anywhere in the
// region.
TEST(ErrorLog, anAddressLineIsAWireOfPhysicalAddresses) {
  ErrorLog log;
  for (std::uint64_t i = 0; i < 100; ++i) {
    MemoryError e = error(8 * i, 0);
    e.data = Background::Kind::address;
    e.expected = e.address;
    e.actual = e.address + 0x123'4568;
    e.physical = 0x1'0000'0000 + 8 * i;
    e.other_physical = *e.physical ^ (1 << 23);
    log.add(e);
  }
  EXPECT_THAT(log.likely_cause(),
              HasSubstr("physical addresses that differ in bit 23 reach the same cell"));
}

TEST(ErrorLog, wordsThatHoldTheAddressOfOthersMeanAnAddressLine) {
  ErrorLog log;
  for (std::uint64_t offset = 0; offset < 4096; offset += 8) {
    MemoryError e = error(offset, 0);
    e.data = Background::Kind::address;
    e.expected = e.address;
    e.actual = e.address ^ (1 << 20);
    log.add(e);
  }
  EXPECT_THAT(log.likely_cause(), HasSubstr("an address line: addresses that differ in bit 20"));
  // The same bit in other data is a data line.
  ErrorLog other;
  for (std::uint64_t i = 0; i < 5; ++i) other.add(error(i * 8, 1 << 20));
  EXPECT_THAT(other.likely_cause(), HasSubstr("one data line (bit 20)"));
}

TEST(ErrorLog, keepsTheKernelOffWholePagesWithEveryDigit) {
  ErrorLog log;
  std::uint64_t offset = 0;
  for (const std::uint64_t physical :
       {std::uint64_t{0x84e190008}, std::uint64_t{0x84e190ff8}, std::uint64_t{0x84e191000},
        std::uint64_t{0x84e193010}, std::uint64_t{0x1000}}) {
    MemoryError e = error(offset += 8, 1);
    e.physical = physical;
    log.add(e);
  }
  EXPECT_THAT(log.kernel_arguments(4096),
              ElementsAre("memmap=4K$0x1000", "memmap=8K$0x84e190000", "memmap=4K$0x84e193000"));
  EXPECT_THAT(log.kernel_arguments(65536), ElementsAre("memmap=64K$0x0", "memmap=64K$0x84e190000"));
  EXPECT_EQ(log.bad_pages(4096).size(), 4U);
  // Without physical addresses there is nothing to say, and frame 0 is not said.
  ErrorLog unknown;
  unknown.add(error(8, 1));
  EXPECT_TRUE(unknown.kernel_arguments(4096).empty());
}

TEST(ErrorLog, aStormIsKeptWithinBounds) {
  ErrorLog log;
  for (std::uint64_t i = 0; i < 5000; ++i) log.add(error(i * 8, 1));
  EXPECT_EQ(log.words().size(), ErrorLog::most_words);
  EXPECT_EQ(log.errors(), 5000U);
  EXPECT_EQ(log.by_bit()[0], 5000U);
  EXPECT_EQ(log.addresses(), "1000 or more addresses");
}

}  // namespace
}  // namespace assay::probes
