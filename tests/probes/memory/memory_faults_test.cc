// Memory that fails: found, located, told apart, and told of.
#include <fmt/core.h>
#include <gmock/gmock.h>

#include <cstring>
#include <filesystem>

#include "base/clock.h"
#include "probes/memory/frame_coverage.h"
#include "tests/probes/memory/memory_test_fixture.h"

namespace assay::probes {
namespace {

using reports::StepState;
using test::Outcome;
using testing::Contains;
using testing::HasSubstr;

using MemoryFaults = MemoryTestFixture;

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t n = 0;
  for (std::size_t at = text.find(part); at != text.npos; at = text.find(part, at + 1)) ++n;
  return n;
}

TEST_F(MemoryFaults, locatesAStuckBitAndCallsItHard) {
  constexpr std::size_t line = 5 * mib / line_bytes + 16;
  constexpr std::uint64_t stuck = std::uint64_t{1} << 37;  // 1 in 0xAA.., 0 in 0x55..
  std::uintptr_t address = 0;
  bench_.ram.at = {line};
  bench_.ram.on_write = [&](std::byte* region, std::size_t at) {
    *word(region, at, 3) |= stuck;
    address = reinterpret_cast<std::uintptr_t>(word(region, at, 3));
  };
  iterations(2);
  const Outcome outcome = run();
  ASSERT_TRUE(outcome.result);
  EXPECT_EQ(outcome.step.state, StepState::fail);
  EXPECT_EQ(outcome.number("errors"), 2);
  const auto& finding = corruption(outcome);
  EXPECT_THAT(finding.message, HasSubstr("2 reads gave a wrong word, at 1 address of"));
  EXPECT_THAT(finding.message, HasSubstr("0x0000002000000000"));
  EXPECT_THAT(finding.message, HasSubstr("one bit (bit 37) that fails each time: stuck"));
  EXPECT_THAT(finding.evidence, Contains(HasSubstr(fmt::format("{:#018x}", address))));
  EXPECT_THAT(finding.evidence, Contains(HasSubstr("0x55555555, ⇕(r0) with ⇕(w0), iteration 1")));
  EXPECT_THAT(finding.evidence, Contains(HasSubstr("retest 16 of 16 failed: hard")));
  EXPECT_EQ(count(outcome.journal, "assay.memory.mismatch"), 2U);
  EXPECT_THAT(outcome.journal, HasSubstr("\"mask\":\"0x0000002000000000\""));
  EXPECT_THAT(outcome.journal, HasSubstr(fmt::format("\"offset\":{}", line * line_bytes + 24)));
}

// Only a March test that writes the aggressor before it reads the victim can see it.
TEST_F(MemoryFaults, locatesACoupledBitAndTellsItFromAStuckOne) {
  constexpr std::size_t aggressor = 3 * mib / line_bytes;
  std::optional<bool> was_set;
  bench_.ram.at = {aggressor};
  bench_.ram.on_write = [&](std::byte* region, std::size_t at) {
    const bool is_set = (*word(region, at) & 1) != 0;
    if (was_set == false && is_set) *word(region, at + 1, 2) ^= 0x10;
    was_set = is_set;
  };
  tests({"march-c-"});
  const Outcome outcome = run();
  const auto& finding = corruption(outcome);
  EXPECT_THAT(finding.message, HasSubstr("at 1 address of"));
  EXPECT_THAT(finding.message, HasSubstr("in none of 16 tries alone: coupling"));
  EXPECT_THAT(finding.evidence, Contains(HasSubstr("retest 0 of 16 failed: disturbed")));
  EXPECT_THAT(outcome.journal,
              HasSubstr(fmt::format("\"offset\":{}", (aggressor + 1) * line_bytes + 16)));
}

// A line is written at once: two words of it that always hold the same hide half of the coupling
// between them.
TEST_F(MemoryFaults, findsCouplingBetweenTwoWordsOfOneLine) {
  bench_.parameters.set("size", 1 * mib);
  for (const std::uint64_t to : {0, 1}) {
    std::optional<bool> was_set;
    bench_.ram.at = {100};
    bench_.ram.on_write = [&](std::byte* region, std::size_t line) {
      const bool is_set = (*word(region, line, 2) & 1) != 0;
      if (was_set == false && is_set) {
        *word(region, line, 5) = (*word(region, line, 5) & ~std::uint64_t{1}) | to;
      }
      was_set = is_set;
    };
    tests({"march-c-"});
    const Outcome outcome = run();
    EXPECT_THAT(corruption(outcome).message, HasSubstr("one bit (bit 0)")) << to;
    EXPECT_THAT(outcome.journal, HasSubstr(fmt::format("\"offset\":{}", 100 * line_bytes + 40)));
  }
}

TEST_F(MemoryFaults, anErrorThatComesOnceIsSoft) {
  int writes = 0;
  iterations(5);
  bench_.ram.at = {1};
  bench_.ram.on_write = [&](std::byte* region, std::size_t line) {
    if (++writes == 7) *word(region, line) ^= 0x8000;
  };
  const Outcome outcome = run();
  EXPECT_EQ(outcome.number("errors"), 1);
  // The seventh write is the first pattern of the fourth iteration.
  EXPECT_THAT(corruption(outcome).evidence, Contains(HasSubstr("0xAAAAAAAA, ")));
  EXPECT_THAT(corruption(outcome).evidence, Contains(HasSubstr("iteration 4")));
  EXPECT_THAT(corruption(outcome).message, HasSubstr("failed once: a soft error"));
}

// A soft error is one that does not come again when the same is done again.
TEST_F(MemoryFaults, anErrorOfASingleIterationIsNotCalledSoft) {
  int writes = 0;
  bench_.ram.at = {1};
  bench_.ram.on_write = [&](std::byte* region, std::size_t line) {
    if (++writes == 1) *word(region, line) ^= 0x8000;
  };
  EXPECT_THAT(corruption(run()).message, HasSubstr("a soft error, or coupling"));
}

TEST_F(MemoryFaults, theReportHasWhatAPersonNeedsOfEachWord) {
  bench_.ram.at = {9};
  bench_.ram.on_write = [&](std::byte* region, std::size_t line) { *word(region, line) |= 4; };
  bench_.write("/sys/class/thermal/thermal_zone0/temp", "41000\n");
  bench_.write("/sys/class/thermal/thermal_zone3/temp", "44500\n");
  bench_.write("/sys/class/thermal/thermal_zone4/temp", "255000\n");
  const Outcome outcome = run();
  const auto& words = outcome.step.details.at("errors")["words"];
  ASSERT_EQ(words.size(), 1U);
  EXPECT_EQ(words[0]["kind"], "hard");
  EXPECT_EQ(words[0]["mask"], "0x0000000000000004");
  const auto& first = words[0]["first"];
  EXPECT_EQ(first["expected"], "0xaaaaaaaaaaaaaaaa");
  EXPECT_EQ(first["actual"], "0xaaaaaaaaaaaaaaae");
  EXPECT_EQ(first["test"], "0xAAAAAAAA");
  EXPECT_EQ(first["iteration"], 1);
  // Without a profile's zone, the hottest that says something sensible.
  EXPECT_EQ(first["temperature_mc"], 44500);
  for (const char* key : {"address", "element", "processor", "time"}) {
    EXPECT_TRUE(first.contains(key)) << key;
  }
  EXPECT_EQ(first.contains("physical"), PageMap::open().has_value());
  EXPECT_THAT(corruption(outcome).evidence, Contains(HasSubstr(", 44.5 C, 20")));
}

TEST_F(MemoryFaults, aBitThatFailsNowAndThenIsIntermittentAndKnowsTheHeat) {
  int writes = 0;
  bench_.ram.at = {9};
  bench_.ram.on_write = [&](std::byte* region, std::size_t line) {
    if (++writes % 3 == 0) *word(region, line, 1) ^= 0x2;
  };
  bench_.board.thermal = ThermalProfile{.zone = "thermal_zone0"};
  bench_.write("/sys/class/thermal/thermal_zone0/temp", "71500\n");
  iterations(6);
  const Outcome outcome = run();
  EXPECT_THAT(corruption(outcome).message, HasSubstr("one bit (bit 1) that fails now and then"));
  EXPECT_THAT(corruption(outcome).evidence, Contains(HasSubstr("of 16 failed: intermittent")));
  EXPECT_THAT(outcome.journal, HasSubstr("\"temperature_mc\":71500"));
  EXPECT_THAT(outcome.journal, HasSubstr("\"processor\":"));
  EXPECT_EQ(outcome.journal.find("\"physical\":\"0x") != std::string::npos,
            PageMap::open().has_value());
}

TEST_F(MemoryFaults, anErrorThatIsGoneWhenReadAgainIsStillAnError) {
  int reads = 0;
  std::byte* flipped = nullptr;
  bench_.ram.at = {100, 101};
  bench_.ram.on_read = [&](std::byte* region, std::size_t line) {
    // Wrong while line 100 is read; right again before anything else looks.
    if (line == 100 && ++reads == 1) {
      flipped = region + 100 * line_bytes;
      *flipped ^= std::byte{1};
    } else if (flipped != nullptr) {
      *flipped ^= std::byte{1};
      flipped = nullptr;
    }
  };
  tests({"0xAAAAAAAA"});
  EXPECT_EQ(run().number("errors"), 1);
}

// Each address with bit 20 set reaches the cell without it too: the address test's words hold each
// other's addresses, whatever other tests beside it say.
TEST_F(MemoryFaults, anAddressLineIsNamedAndAStuckBitIsNone) {
  bench_.parameters.set("size", 2 * mib);
  const std::size_t other = mib / line_bytes;
  for (std::size_t line = 0; line < 2 * other; ++line) bench_.ram.at.push_back(line);
  bench_.ram.on_write = [&](std::byte* region, std::size_t line) {
    std::memcpy(region + (line ^ other) * line_bytes, region + line * line_bytes, line_bytes);
  };
  const std::vector<std::vector<std::string>> with_address = {{"address"},
                                                              {"march-c-", "random", "address"}};
  for (const auto& names : with_address) {
    tests(names);
    EXPECT_THAT(corruption(run()).message, HasSubstr("an address line: ")) << names.size();
  }
  bench_.ram.at = {100};
  bench_.ram.on_write = [](std::byte* region, std::size_t line) {
    *word(region, line) |= std::uint64_t{1} << 26;
    *word(region, line, 3) |= std::uint64_t{1} << 26;
  };
  tests({"address"});
  const std::string message = corruption(run()).message;
  EXPECT_THAT(message, testing::Not(HasSubstr("an address line")));
}

TEST_F(MemoryFaults, everyWordThatIsKeptIsTestedAlone) {
  bench_.parameters.set("size", 2 * mib);
  for (std::size_t i = 0; i < 120; ++i) bench_.ram.at.push_back(i * 270);
  bench_.ram.on_write = [](std::byte* region, std::size_t line) { *word(region, line) |= 4; };
  tests({"march-c-"});
  iterations(2);
  const Outcome outcome = run();
  const auto& words = outcome.step.details.at("errors")["words"];
  EXPECT_EQ(words.size(), 120U);
  for (const auto& one : words) EXPECT_EQ(one["kind"], "hard");
}

TEST_F(MemoryFaults, findsErrorsInTheFirstAndTheLastWord) {
  constexpr std::size_t last = 17 * 4096 / line_bytes - 1;
  bench_.parameters.set("size", 4096 * std::uint64_t{17});
  bench_.ram.at = {0, last};
  bench_.ram.on_write = [](std::byte* region, std::size_t line) {
    *word(region, line, line == 0 ? 0 : 7) = 1;
  };
  EXPECT_EQ(run().number("errors"), 4);
}

TEST_F(MemoryFaults, aStormIsCountedAndItsListHasAnEnd) {
  for (std::size_t line = 0; line < 1 * mib / line_bytes; ++line) bench_.ram.at.push_back(line);
  bench_.ram.on_write = [](std::byte* region, std::size_t line) {
    std::memset(region + line * line_bytes, 0, line_bytes);
  };
  iterations(20);
  const Outcome outcome = run();
  EXPECT_EQ(outcome.step.state, StepState::fail);
  EXPECT_EQ(outcome.number("errors"), 40.0 * mib / 8);
  EXPECT_LE(count(outcome.journal, "assay.memory.mismatch"), 1000U);
  EXPECT_THAT(corruption(outcome).message, HasSubstr(fmt::format("{} reads", 40 * mib / 8)));
  EXPECT_LE(corruption(outcome).evidence.size(), 8U);
  // Nobody is told that the words known by address are all.
  EXPECT_THAT(corruption(outcome).message, HasSubstr("or more addresses"));
  EXPECT_EQ(outcome.step.details.at("errors").at("complete"), false);
  if (PageMap::open()) {
    EXPECT_THAT(corruption(outcome).remedy, Contains(HasSubstr("not all the bad pages")));
  }
}

// A cell that leaks: right by itself, wrong after it was left alone.
TEST_F(MemoryFaults, aCellThatLeaksIsToldByTheHold) {
  const std::int64_t hold_ns = 400 * ns_per_ms;
  bench_.parameters.set("hold", static_cast<std::uint64_t>(hold_ns));
  tests({"bit-fade"});
  iterations(2);
  bench_.ram.at = {3};
  std::atomic<std::int64_t> written{0};
  bench_.ram.on_write = [&](std::byte*, std::size_t) { written = monotonic_ns(); };
  bench_.ram.on_read = [&](std::byte* region, std::size_t line) {
    if (monotonic_ns() - written >= hold_ns / 2) *word(region, line) &= ~std::uint64_t{4};
  };
  const Outcome outcome = run();
  EXPECT_THAT(corruption(outcome).message,
              HasSubstr("one bit (bit 2) that failed each time it had been left alone"));
  EXPECT_THAT(corruption(outcome).evidence.front(), HasSubstr("retention"));
}

TEST_F(MemoryFaults, theEvidenceShowsAValueThatWasRead) {
  tests({"0xAAAAAAAA", "0x55555555"});
  std::atomic<unsigned> reads{0};
  std::vector<std::string> read;
  bench_.ram.at = {3};
  bench_.ram.on_read = [&](std::byte* region, std::size_t line) {
    // Another bit each time.
    *word(region, line) ^= std::uint64_t{1} << (5 * ++reads % 64);
    read.push_back(fmt::format("found {:#018x}", *word(region, line)));
  };
  const std::string evidence = corruption(run()).evidence.front();
  EXPECT_THAT(read, Contains(testing::Truly([&](const std::string& one) {
                return evidence.find(one) != std::string::npos;
              })));
  EXPECT_THAT(evidence, HasSubstr("in all bits 0x"));
}

TEST_F(MemoryFaults, asksTheKernelToRetireBadPagesWhenToldTo) {
  const std::string file = "/sys/devices/system/memory/soft_offline_page";
  bench_.write(file, "");
  bench_.ram.at = {5};
  bench_.ram.on_write = [](std::byte* region, std::size_t line) { *word(region, line) |= 1; };
  const Outcome untold = run();
  EXPECT_EQ(bench_.root().content(file), "");
  bench_.parameters.set("offline_bad_pages", true);
  const Outcome told = run();
  if (!PageMap::open()) {
    EXPECT_TRUE(told.logged("no page to retire"));
    return;
  }
  EXPECT_TRUE(told.logged("the kernel retired the page at 0x"));
  EXPECT_THAT(bench_.root().content(file), testing::MatchesRegex("0x[0-9a-f]+000"));
  EXPECT_THAT(corruption(told).remedy, Contains(HasSubstr("memmap=4K$0x")));
  std::filesystem::remove(bench_.root() / file);
  EXPECT_TRUE(run().logged("pages cannot be retired here"));
}

}  // namespace
}  // namespace assay::probes
