// What the memory test runs, for how long, on how much, and what it says of that.
#include "probes/memory/memory_test.h"

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <unistd.h>

#include <atomic>

#include "base/clock.h"
#include "probes/memory/frame_coverage.h"
#include "tests/probes/memory/memory_test_fixture.h"

namespace assay::probes {
namespace {

using reports::StepState;
using test::Outcome;
using testing::HasSubstr;

using MemoryTest = MemoryTestFixture;

TEST_F(MemoryTest, findsNothingInHealthyMemoryByAnyTest) {
  std::vector<std::string> all = algorithm_names();
  all.insert(all.end(), {"0xA5", "0x1234~", "0xDEADBEEF", "0x0123456789ABCDEF~"});
  bench_.parameters.set("size", 1 * mib + 4096);
  bench_.parameters.set("hold", std::uint64_t{1'000'000});
  for (const char* flush : {"auto", "none", "stream", "batch", "line"}) {
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
      HasSubstr("\"flush\":{\"batch\":\"⇑(r0,w1,r1);⇓(r1,w0,r0)\",\"stream\":\"⇕(w0);⇕(r0)\"}"));
  EXPECT_THAT(outcome.journal, HasSubstr("\"flush\":{\"none\":\"⇕(w0);⇑(r0,w1);⇕(r1)\"}"));
  // 10 backgrounds x 8 operations and 4 of the random chain, twice.
  EXPECT_THAT(outcome.journal, HasSubstr(fmt::format("\"bytes_moved\":{}", 2 * 80 * 8 * mib)));
  EXPECT_THAT(outcome.journal, HasSubstr(fmt::format("\"bytes_moved\":{}", 2 * 4 * 8 * mib)));
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
  // What it did until then is told: that it moved bytes, and at what rate.
  EXPECT_GT(outcome.number("bandwidth"), 0);
  // A fault seen stays a fault.
  EXPECT_EQ(outcome.step.state, StepState::fail);
  EXPECT_NE(outcome.finding("MEM_CORRUPTION_ERR"), nullptr);
}

// Others want more than the reserve while all of it is locked.
TEST_F(MemoryTest, givesUpWhatItHasBeforeTheKernelMustKill) {
  iterations(1'000'000);
  bench_.ram.at = {0};
  std::atomic<int> writes{0};
  bench_.ram.on_write = [&](std::byte*, std::size_t) { ++writes; };
  bench_.ram.left = [&] { return writes < 10 ? 4 * Ram::least_usable : Ram::least_usable - 1; };
  const Outcome outcome = run();
  ASSERT_FALSE(outcome.result);
  EXPECT_EQ(outcome.result.error().kind, ErrorKind::exhausted);
  EXPECT_EQ(outcome.step.state, StepState::error);  // and no pass
  // What it had tested by then stands in the report.
  EXPECT_GE(outcome.number("iterations"), 1);
  EXPECT_EQ(outcome.number("errors"), 0);
}

// Pages of earlier iterations are only held for the sake of coverage.
TEST_F(MemoryTest, pagesThatAreHeldAreGivenBackBeforeATestIsEnded) {
  bench_.parameters.set("fresh_frames", true);
  bench_.parameters.set("time", std::uint64_t{1'000'000'000});
  int looks_when_short = 0;
  int iterations_held = 0;
  bench_.ram.at = {0};
  bench_.ram.on_write = [&](std::byte*, std::size_t) { ++iterations_held; };
  bench_.ram.left = [&] {
    const bool is_short = iterations_held > 40 && looks_when_short < 3;
    looks_when_short += is_short ? 1 : 0;
    return is_short ? Ram::least_usable - 1 : 4 * Ram::least_usable;
  };
  const Outcome outcome = run();
  ASSERT_TRUE(outcome.result) << outcome.result.error().text();
  EXPECT_EQ(outcome.step.state, StepState::pass);
  EXPECT_EQ(looks_when_short, 3);
  EXPECT_TRUE(outcome.logged("held so that later ones take others, were given back"));
}

// No memory for the next iteration: what was found before stays found.
TEST_F(MemoryTest, whatIsTakenBetweenIterationsEndsItWithItsFigures) {
  bench_.parameters.set("fresh_frames", true);
  iterations(1'000'000);
  std::atomic<int> writes{0};
  bench_.ram.at = {0};
  bench_.ram.on_write = [&](std::byte* region, std::size_t line) {
    *word(region, line) = 0x1234;
    ++writes;
  };
  bench_.ram.left = [&] { return writes < 2 ? 4 * Ram::least_usable : Ram::least_usable; };
  const Outcome outcome = run();
  ASSERT_FALSE(outcome.result);
  EXPECT_EQ(outcome.result.error().kind, ErrorKind::exhausted);
  EXPECT_EQ(outcome.number("iterations"), 1);
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
