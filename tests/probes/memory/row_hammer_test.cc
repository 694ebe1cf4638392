#include "probes/memory/row_hammer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <random>

#include "probes/memory/dram_rows.h"
#include "probes/memory/frame_coverage.h"
#include "tests/probes/bench_fixture.h"

namespace assay::probes {
namespace {

using reports::StepState;
using test::Outcome;
using testing::HasSubstr;

// 16 banks whose number is the XOR of two fields of the address, rows of 8 KiB in each.
struct Dram {
  std::size_t bank(std::size_t offset) const { return ((offset >> 13) ^ (offset >> 17)) % 16; }
  std::size_t row(std::size_t offset) const { return offset >> 17; }
  bool conflict(std::size_t a, std::size_t b) const {
    return bank(a) == bank(b) && row(a) != row(b);
  }
};

AlternatingAccess timed(double fast, double slow, double noise) {
  auto random = std::make_shared<std::mt19937>(1);
  return [=](std::size_t a, std::size_t b) {
    std::exponential_distribution<double> more(1 / noise);
    return (Dram().conflict(a, b) ? slow : fast) + more(*random);
  };
}

std::vector<std::size_t> lines(std::size_t bytes) {
  std::vector<std::size_t> all;
  for (std::size_t at = 0; at < bytes; at += 4096) all.push_back(at);
  return all;
}

TEST(DramRows, thresholdLiesBetweenTheTwoGroups) {
  const auto threshold = row_conflict_threshold(timed(200, 260, 2), lines(2 << 20));
  ASSERT_TRUE(threshold) << threshold.error().text();
  EXPECT_GT(*threshold, 205);
  EXPECT_LT(*threshold, 262);
}

TEST(DramRows, oneGroupOrNoiseIsNoThreshold) {
  EXPECT_FALSE(row_conflict_threshold(timed(200, 200, 2), lines(2 << 20)));
  EXPECT_FALSE(row_conflict_threshold(timed(200, 205, 80), lines(2 << 20)));
  EXPECT_FALSE(row_conflict_threshold(timed(200, 260, 2), lines(64 << 10)));
}

TEST(DramRows, findsTheRowsAboveAndBelowTheVictim) {
  const auto access = timed(200, 260, 2);
  const auto all = lines(2 << 20);
  const double threshold = *row_conflict_threshold(access, all);
  const Dram dram;
  for (const std::size_t above : {std::size_t{0}, std::size_t{12 << 10}, std::size_t{200 << 10}}) {
    const auto pair = find_row_pair(access, threshold, all, above);
    ASSERT_TRUE(pair) << pair.error().text();
    EXPECT_EQ(dram.bank(pair->below), dram.bank(above));
    EXPECT_EQ(dram.row(pair->below), dram.row(above) + 2);
    ASSERT_FALSE(pair->victim_rows.empty());
    for (const std::size_t victim : pair->victim_rows) {
      EXPECT_EQ(dram.bank(victim), dram.bank(above));
      EXPECT_EQ(dram.row(victim), dram.row(above) + 1);
    }
  }
  // The third row of the bank is not there.
  EXPECT_FALSE(find_row_pair(access, threshold, lines(256 << 10), 0));
}

class RowHammer : public testing::Test {
 protected:
  RowHammer() {
    bench_.parameters.set("size", std::uint64_t{16} << 20);
    bench_.parameters.set("pairs", std::uint64_t{2});
    bench_.parameters.set("refreshes", std::uint64_t{1});
  }
  // Rows as in Dram; reading two rows around a third often enough flips a bit of it.
  void simulate(bool flips) {
    bench_.ram.on_turns = [this, flips](std::byte* region, std::size_t a, std::size_t b,
                                        std::uint64_t turns) {
      const Dram dram;
      const std::size_t first = a * line_bytes;
      const std::size_t second = b * line_bytes;
      if (flips && turns == 1000 && dram.conflict(first, second) &&
          dram.row(second) == dram.row(first) + 2 && ++hammered_ == 20) {
        const std::size_t row = dram.row(first) + 1;
        std::size_t victim = row << 17;
        while (dram.bank(victim) != dram.bank(first)) victim += 8192;
        region[victim + 40] ^= std::byte{0x08};
      }
      return dram.conflict(first, second) ? 260.0 : 200.0;
    };
  }
  Outcome run() {
    return bench_.run(
        row_hammer_probe(),
        {{"flips", {reports::make_validator(reports::Comparison::equal, std::int64_t{0}, "1")}}});
  }
  // Only root is told frames. To anyone else the probe must say that rows cannot be found; the test
  // is then over.
  bool frames_are_told(const Outcome& outcome) {
    if (PageMap::open()) return true;
    EXPECT_NE(geteuid(), 0U);
    EXPECT_EQ(outcome.step.state, StepState::skip);
    EXPECT_THAT(outcome.step.skip_reason, HasSubstr("root"));
    return false;
  }
  int hammered_ = 0;
  test::BenchFixture bench_;
};

TEST_F(RowHammer, countsActivationsAndFindsNothingInMemoryThatHolds) {
  simulate(false);
  const Outcome outcome = run();
  if (!frames_are_told(outcome)) return;
  ASSERT_TRUE(outcome.result) << outcome.result.error().text();
  EXPECT_EQ(outcome.step.state, StepState::pass);
  EXPECT_EQ(outcome.number("flips"), 0);
  EXPECT_EQ(outcome.number("pairs"), 2);
  EXPECT_GT(outcome.number("activations_per_refresh"), 0);
}

TEST_F(RowHammer, findsTheBitThatFlippedBetweenTheRows) {
  simulate(true);
  const Outcome outcome = run();
  if (!frames_are_told(outcome)) return;
  EXPECT_EQ(outcome.step.state, StepState::fail);
  EXPECT_EQ(outcome.number("flips"), 1);
  const auto* finding = outcome.finding("MEM_ROW_HAMMER");
  ASSERT_NE(finding, nullptr);
  ASSERT_EQ(finding->evidence.size(), 1U);
  EXPECT_THAT(finding->evidence[0], HasSubstr("expected 0x0000000000000000, found "
                                              "0x0000000000000008, bits 0x0000000000000008"));
  EXPECT_THAT(finding->evidence[0], testing::MatchesRegex("address 0x[0-9a-f]+, physical 0x.*"));
  EXPECT_THAT(outcome.journal, HasSubstr("assay.memory.mismatch"));
}

TEST_F(RowHammer, aBitThatIsStuckIsNoDoingOfTheRows) {
  simulate(false);
  bench_.ram.at = {77};
  bench_.ram.on_write = [](std::byte* region, std::size_t line) {
    region[line * line_bytes] |= std::byte{1};
  };
  const Outcome outcome = run();
  if (!frames_are_told(outcome)) return;
  EXPECT_EQ(outcome.step.state, StepState::fail);
  EXPECT_NE(outcome.finding("MEM_CORRUPTION_ERR"), nullptr);
  EXPECT_EQ(outcome.finding("MEM_ROW_HAMMER"), nullptr);
}

// Memory with ECC puts a flip right before anybody reads it.
TEST_F(RowHammer, aFlipThatEccCorrectedIsAFinding) {
  simulate(false);
  const std::string folder = "/sys/devices/system/edac/mc/mc0";
  bench_.write(folder + "/ce_count", "4");
  bench_.write(folder + "/ue_count", "0");
  const auto on_turns = bench_.ram.on_turns;
  bench_.ram.on_turns = [=, this](std::byte* region, std::size_t a, std::size_t b,
                                  std::uint64_t turns) {
    if (turns == 1000) bench_.write(folder + "/ce_count", "5");
    return on_turns(region, a, b, turns);
  };
  const Outcome outcome = run();
  if (!frames_are_told(outcome)) return;
  EXPECT_EQ(outcome.number("flips"), 0);
  EXPECT_EQ(outcome.number("ecc_corrected"), 1);
  EXPECT_NE(outcome.finding("MEM_ECC_CORRECTED"), nullptr);
  EXPECT_EQ(outcome.step.state, StepState::fail);
}

TEST_F(RowHammer, whatFlippedStaysWhenALaterPairIsWrongBeforeItIsHammered) {
  simulate(true);
  bench_.ram.at = {77};
  bench_.ram.on_write = [this](std::byte* region, std::size_t line) {
    if (hammered_ > 20) region[line * line_bytes] |= std::byte{1};
  };
  const Outcome outcome = run();
  if (!frames_are_told(outcome)) return;
  const auto* finding = outcome.finding("MEM_ROW_HAMMER");
  ASSERT_NE(finding, nullptr);
  EXPECT_THAT(finding->evidence[0], HasSubstr("bits 0x0000000000000008"));
  const auto* before = outcome.finding("MEM_CORRUPTION_ERR");
  ASSERT_NE(before, nullptr);
  for (const std::string& line : before->evidence) {
    EXPECT_THAT(line, testing::Not(HasSubstr("bits 0x0000000000000008")));
  }
}

TEST_F(RowHammer, stopsWhileItLooksForRows) {
  int accesses = 0;
  bench_.ram.on_turns = [&](std::byte*, std::size_t a, std::size_t b, std::uint64_t) {
    if (++accesses == 10) bench_.cancel.cancel();
    return Dram().conflict(a * line_bytes, b * line_bytes) ? 260.0 : 200.0;
  };
  const Outcome outcome = run();
  if (!frames_are_told(outcome)) return;
  ASSERT_FALSE(outcome.result);
  EXPECT_EQ(outcome.result.error().kind, ErrorKind::cancelled);
  EXPECT_EQ(accesses, 10);
}

TEST_F(RowHammer, givesItsMemoryBackBeforeTheKernelMustKill) {
  simulate(false);
  const auto on_turns = bench_.ram.on_turns;
  bool hammering = false;
  bench_.ram.on_turns = [&](std::byte* region, std::size_t a, std::size_t b, std::uint64_t turns) {
    hammering = hammering || turns == 1000;
    return on_turns(region, a, b, turns);
  };
  bench_.ram.left = [&] { return hammering ? Ram::least_usable - 1 : 4 * Ram::least_usable; };
  // An hour, were it not ended.
  bench_.parameters.set("refreshes", std::uint64_t{56'250});
  const Outcome outcome = run();
  if (!frames_are_told(outcome)) return;
  ASSERT_FALSE(outcome.result);
  EXPECT_EQ(outcome.result.error().kind, ErrorKind::exhausted);
  EXPECT_EQ(outcome.step.state, StepState::error);
  EXPECT_EQ(outcome.number("flips"), 0);
}

TEST_F(RowHammer, rowsThatCannotBeFoundAreSaidSoAndAreNoPass) {
  bench_.ram.on_turns = [](std::byte*, std::size_t, std::size_t, std::uint64_t) { return 200.0; };
  const Outcome outcome = run();
  ASSERT_TRUE(outcome.result);
  EXPECT_EQ(outcome.step.state, StepState::skip);
  EXPECT_THAT(outcome.step.skip_reason,
              testing::AnyOf(HasSubstr("rows cannot be found"), HasSubstr("root only")));
}

}  // namespace
}  // namespace assay::probes
