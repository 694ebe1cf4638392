#include "probes/memory/memory_test.h"

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <filesystem>

#include "base/clock.h"
#include "probes/memory/page_map.h"
#include "tests/probes/bench_fixture.h"

namespace assay::probes {
namespace {

using reports::StepState;
using test::Outcome;
using testing::Contains;
using testing::HasSubstr;

constexpr std::uint64_t mib = 1 << 20;

std::uint64_t* word(std::byte* region, std::size_t line, std::size_t index = 0) {
  return reinterpret_cast<std::uint64_t*>(region + line * line_bytes) + index;
}

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t n = 0;
  for (std::size_t at = text.find(part); at != text.npos; at = text.find(part, at + 1)) ++n;
  return n;
}

class MemoryTest : public testing::Test {
 protected:
  MemoryTest() {
    bench_.parameters.set("size", 8 * mib);
    tests({"0xAAAAAAAA", "0x55555555"});
  }
  void tests(const std::vector<std::string>& names) { bench_.parameters.set("tests", names); }
  void iterations(std::uint64_t n) { bench_.parameters.set("iterations", n); }
  Outcome run() {
    return bench_.run(
        memory_test_probe(),
        {{"errors", {reports::make_validator(reports::Comparison::equal, std::int64_t{0}, "1")}}});
  }
  const reports::Finding& corruption(const Outcome& outcome) {
    const auto* finding = outcome.finding("MEM_CORRUPTION_ERR");
    if (finding == nullptr) throw std::runtime_error("no finding");
    return *finding;
  }
  test::BenchFixture bench_;
};

TEST_F(MemoryTest, findsNothingInHealthyMemoryByAnyTest) {
  std::vector<std::string> all = algorithm_names();
  all.insert(all.end(), {"0xA5", "0x1234~", "0xDEADBEEF", "0x0123456789ABCDEF~"});
  bench_.parameters.set("size", 1 * mib + 4096);
  bench_.parameters.set("hold", std::uint64_t{1'000'000});
  for (const char* flush : {"auto", "batch", "line"}) {
    bench_.parameters.set("flush", std::string(flush));
    if (flush == std::string("line")) all = {"march-y", "march-ss"};
    for (const std::string& name : all) {
      tests({name});
      const Outcome outcome = run();
      ASSERT_TRUE(outcome.result) << name << outcome.result.error().text();
      EXPECT_EQ(outcome.step.state, StepState::pass) << name;
      EXPECT_EQ(outcome.number("errors"), 0) << name;
      EXPECT_EQ(outcome.number("size"), 1.0 * mib + 4096) << name;
      EXPECT_GT(outcome.number("bandwidth"), 0) << name;
    }
  }
}

TEST_F(MemoryTest, reportsCoverageAndWhatRan) {
  tests({"march-y", "random"});
  iterations(2);
  const Outcome outcome = run();
  EXPECT_GT(outcome.number("coverage"), 0);
  EXPECT_LE(outcome.number("coverage"), 1);
  EXPECT_EQ(outcome.number("iterations"), 2);
  EXPECT_THAT(outcome.journal, HasSubstr("⇕(w0);⇑(r0,w1,r1);⇓(r1,w0,r0);⇕(r0)"));
  // An element that reads what it wrote is flushed in between, and the report says so.
  EXPECT_THAT(
      outcome.journal,
      HasSubstr("\"flush\":{\"batch\":\"⇑(r0,w1,r1);⇓(r1,w0,r0)\",\"none\":\"⇕(w0);⇕(r0)\"}"));
  EXPECT_THAT(outcome.journal, HasSubstr("\"flush\":{\"none\":\"⇕(w0);⇑(r0,w1);⇕(r1)\"}"));
  // 10 backgrounds x 8 operations and 4 of the random chain, twice.
  EXPECT_THAT(outcome.journal, HasSubstr(fmt::format("\"bytes_moved\":{}", 2 * 80 * 8 * mib)));
  EXPECT_THAT(outcome.journal, HasSubstr(fmt::format("\"bytes_moved\":{}", 2 * 4 * 8 * mib)));
}

TEST_F(MemoryTest, locatesAStuckBitAndCallsItHard) {
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
TEST_F(MemoryTest, locatesACoupledBitAndTellsItFromAStuckOne) {
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
  EXPECT_THAT(finding.message, HasSubstr("one bit (bit 4) that fails when its neighbours"));
  EXPECT_THAT(finding.evidence, Contains(HasSubstr("retest 0 of 16 failed: disturbed")));
  EXPECT_THAT(outcome.journal,
              HasSubstr(fmt::format("\"offset\":{}", (aggressor + 1) * line_bytes + 16)));
}

// A line is written at once: two words of it that always hold the same hide half of the coupling
// between them.
TEST_F(MemoryTest, findsCouplingBetweenTwoWordsOfOneLine) {
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

TEST_F(MemoryTest, anErrorThatComesOnceIsSoft) {
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
TEST_F(MemoryTest, anErrorOfASingleIterationIsNotCalledSoft) {
  int writes = 0;
  bench_.ram.at = {1};
  bench_.ram.on_write = [&](std::byte* region, std::size_t line) {
    if (++writes == 1) *word(region, line) ^= 0x8000;
  };
  EXPECT_THAT(corruption(run()).message, HasSubstr("a soft error, or coupling"));
}

TEST_F(MemoryTest, theReportHasWhatAPersonNeedsOfEachWord) {
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

TEST_F(MemoryTest, aBitThatFailsNowAndThenIsIntermittentAndKnowsTheHeat) {
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

TEST_F(MemoryTest, anErrorThatIsGoneWhenReadAgainIsStillAnError) {
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
TEST_F(MemoryTest, anAddressLineIsNamedAndAStuckBitIsNone) {
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
    EXPECT_THAT(corruption(run()).message, HasSubstr("an address line: addresses that differ in "))
        << names.size();
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

TEST_F(MemoryTest, everyWordThatIsKeptIsTestedAlone) {
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

// An iteration that time cut off is none, and what it did not test is not tested.
TEST_F(MemoryTest, onlyWholeIterationsCount) {
  int writes = 0;
  bench_.ram.at = {0};
  bench_.ram.on_write = [&](std::byte*, std::size_t) {
    // Of the second iteration, which the deadline is over in by then.
    if (++writes == 61) {
      const std::int64_t end = monotonic_ns() + 300 * ns_per_ms;
      while (monotonic_ns() < end) {
      }
    }
  };
  bench_.parameters.set("size", 1 * mib);
  bench_.parameters.set("fresh_frames", true);
  bench_.parameters.set("time", std::uint64_t{250'000'000});
  tests({"march-c-"});
  const Outcome outcome = run();
  ASSERT_TRUE(outcome.result) << outcome.result.error().text();
  EXPECT_EQ(outcome.number("iterations"), 1);
  const auto* covered = outcome.measurement("physical_coverage");
  if (covered != nullptr) {
    const auto present = present_frames(Machine("/"));
    ASSERT_TRUE(present);
    EXPECT_LE(outcome.number("physical_coverage") * static_cast<double>(*present),
              1.0 * mib / 4096);
  }
}

TEST_F(MemoryTest, stoppedBeforeItsFirstIterationEndsItTestedNothing) {
  bench_.ram.at = {0};
  bench_.ram.on_write = [&](std::byte*, std::size_t) { bench_.cancel.cancel(); };
  const Outcome outcome = run();
  EXPECT_EQ(outcome.number("iterations"), 0);
  EXPECT_EQ(outcome.number("size"), 0);
  EXPECT_EQ(outcome.number("coverage"), 0);
  EXPECT_EQ(outcome.measurement("physical_coverage"), nullptr);
}

TEST_F(MemoryTest, findsErrorsInTheFirstAndTheLastWord) {
  constexpr std::size_t last = 17 * 4096 / line_bytes - 1;
  bench_.parameters.set("size", 4096 * std::uint64_t{17});
  bench_.ram.at = {0, last};
  bench_.ram.on_write = [](std::byte* region, std::size_t line) {
    *word(region, line, line == 0 ? 0 : 7) = 1;
  };
  EXPECT_EQ(run().number("errors"), 4);
}

TEST_F(MemoryTest, aStormIsCountedAndItsListHasAnEnd) {
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
}

TEST_F(MemoryTest, stopsSoonWhenCancelledAndKeepsWhatItFound) {
  std::atomic<int> writes{0};
  iterations(1'000'000);
  bench_.ram.at = {0};
  bench_.ram.on_write = [&](std::byte* region, std::size_t line) {
    *word(region, line) = 0x1234;
    if (++writes == 60) bench_.cancel.cancel();
  };
  const Outcome outcome = run();
  ASSERT_FALSE(outcome.result);
  EXPECT_EQ(outcome.result.error().kind, ErrorKind::cancelled);
  // A fault seen stays a fault.
  EXPECT_EQ(outcome.step.state, StepState::fail);
  EXPECT_NE(outcome.finding("MEM_CORRUPTION_ERR"), nullptr);
}

TEST_F(MemoryTest, cancelledBeforeItBeginsItIsNoPass) {
  bench_.cancel.cancel();
  const Outcome outcome = run();
  ASSERT_FALSE(outcome.result);
  EXPECT_EQ(outcome.step.state, StepState::error);
}

TEST_F(MemoryTest, aHoldEndsWithTheCancelNotWithItsTime) {
  tests({"bit-fade"});
  bench_.parameters.set("hold", std::uint64_t{3'600'000'000'000});
  bench_.ram.at = {0};
  bench_.ram.on_write = [&](std::byte*, std::size_t) { bench_.cancel.cancel(); };
  EXPECT_FALSE(run().result);
}

TEST_F(MemoryTest, runsAsLongAsItsTime) {
  bench_.parameters.set("time", std::uint64_t{50'000'000});
  const Outcome outcome = run();
  ASSERT_TRUE(outcome.result);
  EXPECT_GE(outcome.number("iterations"), 1);
  // Its first iteration is done whatever it takes.
  bench_.parameters.set("time", std::uint64_t{1});
  EXPECT_EQ(run().number("iterations"), 1);
  // Both given: what ends first.
  iterations(2);
  bench_.parameters.set("time", std::uint64_t{3'600'000'000'000});
  EXPECT_EQ(run().number("iterations"), 2);
}

TEST_F(MemoryTest, lessThanThePlansMinimumIsNoTest) {
  bench_.parameters.set("minimum", 16 * mib);
  const Outcome outcome = run();
  ASSERT_FALSE(outcome.result);
  EXPECT_EQ(outcome.step.state, StepState::error);
  EXPECT_EQ(outcome.measurement("errors"), nullptr);
}

TEST_F(MemoryTest, aBoardWithHalfItsMemoryFailsWhateverReadsBack) {
  bench_.board.memory = MemoryProfile{std::uint64_t{32} << 30, 4096};
  bench_.write("/proc/meminfo", "MemTotal: 33000000 kB\n");
  EXPECT_EQ(run().step.state, StepState::pass);
  bench_.write("/proc/meminfo", "MemTotal: 16500000 kB\n");
  const Outcome outcome = run();
  EXPECT_EQ(outcome.step.state, StepState::fail);
  ASSERT_NE(outcome.finding("MEM_SIZE"), nullptr);
  EXPECT_THAT(outcome.finding("MEM_SIZE")->message, HasSubstr("sees 15.7 GiB"));
  // What the kernel keeps for itself is there too.
  bench_.write("/proc/zoneinfo", "Node 0, zone Normal\n        present  8388608\n");
  EXPECT_EQ(run().step.state, StepState::pass);
}

TEST_F(MemoryTest, whatEccCorrectedIsAFinding) {
  const auto counts = [&](int corrected, int uncorrected) {
    bench_.write("/sys/devices/system/edac/mc/mc0/ce_count", std::to_string(corrected));
    bench_.write("/sys/devices/system/edac/mc/mc0/ue_count", std::to_string(uncorrected));
  };
  EXPECT_TRUE(run().logged("EDAC is unavailable"));
  EXPECT_EQ(run().step.details.at("edac"), "unavailable");
  EXPECT_EQ(run().measurement("ecc_corrected"), nullptr);
  counts(5, 1);
  const Outcome none = run();
  EXPECT_EQ(none.step.state, StepState::pass);
  EXPECT_EQ(none.number("ecc_corrected"), 0);
  EXPECT_EQ(none.step.details.at("edac")["before"],
            (nlohmann::json{{"ce_count", 5}, {"ue_count", 1}}));
  bench_.ram.at = {0};
  bench_.ram.on_write = [&](std::byte*, std::size_t) { counts(7, 1); };
  const Outcome corrected = run();
  EXPECT_EQ(corrected.step.state, StepState::fail);
  EXPECT_EQ(corrected.number("ecc_corrected"), 2);
  EXPECT_NE(corrected.finding("MEM_ECC_CORRECTED"), nullptr);
  EXPECT_EQ(corrected.step.details.at("edac")["after"]["ce_count"], 7);
  EXPECT_EQ(corrected.finding("MEM_ECC_UNCORRECTED"), nullptr);
}

TEST_F(MemoryTest, asksTheKernelToRetireBadPagesWhenToldTo) {
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

TEST_F(MemoryTest, saysWhatFixedPatternsAreWorth) {
  bench_.parameters.set("size", 1 * mib);
  tests({"0xAAAAAAAA"});
  const Outcome one = run();
  EXPECT_TRUE(one.logged("with one fixed pattern half of all stuck bits"));
  EXPECT_THAT(one.step.details.at("misses").get<std::string>(), HasSubstr("no transition"));
  const std::vector<std::vector<std::string>> one_way = {{"0xAAAAAAAA", "0xAAAAAAAA"},
                                                         {"0xAA", "0xFF"}};
  for (const auto& names : one_way) {
    tests(names);
    EXPECT_TRUE(run().logged("a bit that is always written alike")) << names[1];
  }
  const std::vector<std::vector<std::string>> fixed = {
      {"0xAAAAAAAA", "0x55"}, {"0xAAAAAAAA~"}, {"checkerboard"}, {"walking-ones", "walking-zeros"}};
  for (const auto& names : fixed) {
    tests(names);
    EXPECT_TRUE(run().logged("fixed patterns alone find stuck bits, but not")) << names[0];
  }
  const std::vector<std::vector<std::string>> more = {{"random"}, {"0xAA", "march-c-"}};
  for (const auto& names : more) {
    tests(names);
    const Outcome outcome = run();
    EXPECT_FALSE(outcome.logged("alone find")) << names[0];
    EXPECT_FALSE(outcome.step.details.contains("misses")) << names[0];
  }
}

TEST_F(MemoryTest, checksItsParametersBeforeTheRun) {
  const auto preflight = memory_test_probe().preflight;
  EXPECT_TRUE(preflight(bench_.bench(), bench_.parameters));
  for (const ParameterValue& much :
       {ParameterValue{std::uint64_t{1} << 55}, ParameterValue{MemoryShare{100}}}) {
    bench_.parameters.set("size", much);
    const auto refused = preflight(bench_.bench(), bench_.parameters);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().where, "size");
    EXPECT_THAT(refused.error().what, HasSubstr("this machine can spare"));
  }
  for (const ParameterValue& can_be :
       {ParameterValue{AvailableSize{}}, ParameterValue{MemoryShare{1}}}) {
    bench_.parameters.set("size", can_be);
    EXPECT_TRUE(preflight(bench_.bench(), bench_.parameters));
  }
}

// A board that has too little free is not tested; nobody asked for something wrong.
TEST_F(MemoryTest, lessThanAMinimumIsFoundInTheRunAlsoWithASize) {
  bench_.parameters.set("size", std::uint64_t{1} << 55);
  bench_.parameters.set("minimum", std::uint64_t{1} << 50);
  EXPECT_TRUE(memory_test_probe().preflight(bench_.bench(), bench_.parameters));
  const Outcome outcome = run();
  ASSERT_FALSE(outcome.result);
  EXPECT_EQ(outcome.result.error().kind, ErrorKind::unavailable);
  EXPECT_EQ(outcome.step.state, StepState::error);
}

TEST_F(MemoryTest, refusesParametersThatNoMachineCanDo) {
  struct Case {
    const char* name;
    ParameterValue value;
    const char* says;
  };
  const std::vector<Case> cases = {
      {"tests", std::vector<std::string>{"0xAA", "march"}, "no memory test \"march\""},
      {"tests", std::vector<std::string>{"0xAAA"}, "\"0xAAA\" is not a pattern"},
      {"tests", std::vector<std::string>{"0x"}, "is not a pattern"},
      {"tests", std::vector<std::string>{"0xGG"}, "is not a pattern"},
      {"tests", std::vector<std::string>{"0x12~~"}, "is not a pattern"},
      {"size", std::uint64_t{4095}, "no test"},
      {"minimum", 9 * mib, "more than the size"},
      {"minimum", MemoryShare{5}, "expected a size"},
      {"flush", std::string("often"), "no flush policy"},
      {"backgrounds", std::uint64_t{11}, "expected 1 to 10"},
  };
  for (const Case& c : cases) {
    test::BenchFixture bench;
    bench.parameters.set("size", 8 * mib);
    bench.parameters.set("tests", std::vector<std::string>{"random"});
    const auto check = memory_test_probe().check;
    EXPECT_TRUE(check(bench.parameters));
    bench.parameters.set(c.name, c.value);
    const auto refused = check(bench.parameters);
    ASSERT_FALSE(refused) << c.says;
    EXPECT_EQ(refused.error().kind, ErrorKind::usage);
    EXPECT_EQ(refused.error().where, c.name);
    EXPECT_THAT(refused.error().what, HasSubstr(c.says));
  }
}

TEST_F(MemoryTest, saysWhenItTestsLessThanAsked) {
  bench_.parameters.set("size", std::uint64_t{8192});
  EXPECT_FALSE(run().logged("whole pages"));
  bench_.parameters.set("size", std::uint64_t{8193});
  const Outcome outcome = run();
  EXPECT_TRUE(outcome.logged("8193 bytes asked for, 8192 tested"));
  EXPECT_EQ(outcome.number("size"), 8192);
}

TEST_F(MemoryTest, freshFramesAreOtherFrames) {
  bench_.parameters.set("size", 64 * mib);
  const Outcome same = run();
  if (same.measurement("physical_coverage") == nullptr) {
    // Only root is told frames; anyone else reads that in the log.
    EXPECT_TRUE(same.logged("physical addresses are unavailable"));
    EXPECT_NE(geteuid(), 0U);
    return;
  }
  bench_.parameters.set("fresh_frames", true);
  iterations(5);
  const Outcome fresh = run();
  EXPECT_EQ(fresh.number("errors"), 0);
  EXPECT_GT(fresh.number("physical_coverage"), 4.9 * same.number("physical_coverage"));
}

}  // namespace
}  // namespace assay::probes
