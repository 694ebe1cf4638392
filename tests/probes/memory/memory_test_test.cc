#include "probes/memory/memory_test.h"

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "tests/probes/bench_fixture.h"

namespace assay::probes {
namespace {

using reports::StepState;
using test::Outcome;
using testing::Contains;
using testing::HasSubstr;

constexpr std::uint64_t mib = 1 << 20;

std::uint64_t word_at(std::span<const std::byte> region, std::size_t offset) {
  std::uint64_t value = 0;
  std::memcpy(&value, region.data() + offset, 8);
  return value;
}

void put(std::span<std::byte> region, std::size_t offset, std::uint64_t value) {
  std::memcpy(region.data() + offset, &value, 8);
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
    bench_.parameters.set("tests", std::vector<std::string>{"0xAAAAAAAA", "0x55555555"});
  }
  Outcome run() {
    return bench_.run(
        memory_test_probe(),
        {{"errors", {reports::make_validator(reports::Comparison::equal, std::int64_t{0}, "1")}}});
  }
  test::BenchFixture bench_;
};

TEST_F(MemoryTest, findsNothingInHealthyMemory) {
  bench_.parameters.set("iterations", std::uint64_t{3});
  int settled = 0;
  bench_.ram.damage = [&](std::span<std::byte> region) {
    EXPECT_EQ(region.size(), 8 * mib);
    // Every word was written before.
    EXPECT_EQ(word_at(region, 0), word_at(region, region.size() - 8));
    ++settled;
  };
  const Outcome outcome = run();
  ASSERT_TRUE(outcome.result);
  EXPECT_EQ(outcome.step.state, StepState::pass);
  EXPECT_EQ(settled, 6);
  EXPECT_EQ(outcome.number("errors"), 0);
  EXPECT_EQ(outcome.number("size"), 8.0 * mib);
  EXPECT_GT(outcome.number("coverage"), 0);
  EXPECT_LE(outcome.number("coverage"), 1);
  const double fill = outcome.number("fill_bandwidth");
  const double verify = outcome.number("verify_bandwidth");
  EXPECT_GT(fill, 0);
  EXPECT_GT(verify, 0);
  // Twice the bytes over both times: the harmonic mean of the two.
  EXPECT_NEAR(outcome.number("bandwidth"), 2 / (1 / fill + 1 / verify), 1e-6);
}

TEST_F(MemoryTest, findsAStuckBitWithItsAddressAndMask) {
  constexpr std::size_t offset = 5 * mib + 1024;
  constexpr std::uint64_t stuck = std::uint64_t{1} << 37;  // 0 in 0x..AA, 1 in 0x..55
  std::uintptr_t address = 0;
  bench_.ram.damage = [&](std::span<std::byte> region) {
    put(region, offset, word_at(region, offset) | stuck);
    address = reinterpret_cast<std::uintptr_t>(region.data()) + offset;
  };
  bench_.parameters.set("iterations", std::uint64_t{2});
  const Outcome outcome = run();
  ASSERT_TRUE(outcome.result);
  EXPECT_EQ(outcome.step.state, StepState::fail);
  // A bit 37 that is set: 0xAA.. has it set (odd bits), 0x55.. has not.
  EXPECT_EQ(outcome.number("errors"), 2);
  const auto* finding = outcome.finding("MEM_CORRUPTION_ERR");
  ASSERT_NE(finding, nullptr);
  EXPECT_THAT(finding->message, HasSubstr("2 reads"));
  EXPECT_THAT(finding->message, HasSubstr("at 1 addresses"));
  EXPECT_THAT(finding->message, HasSubstr("0x0000002000000000"));
  EXPECT_THAT(finding->evidence, Contains(HasSubstr(fmt::format("{:#018x}", address))));
  EXPECT_THAT(finding->evidence, Contains(HasSubstr("0x55555555, iteration 2")));
  EXPECT_EQ(count(outcome.journal, "assay.memory.mismatch"), 2U);
  EXPECT_THAT(outcome.journal, HasSubstr("\"mask\":\"0x0000002000000000\""));
  EXPECT_THAT(outcome.journal, HasSubstr("\"offset\":" + std::to_string(offset)));
}

TEST_F(MemoryTest, findsAnErrorThatComesOnce) {
  int pass = 0;
  bench_.parameters.set("iterations", std::uint64_t{5});
  bench_.ram.damage = [&](std::span<std::byte> region) {
    if (++pass == 7) put(region, 64, word_at(region, 64) ^ 0x8000);
  };
  const Outcome outcome = run();
  EXPECT_EQ(pass, 10);
  EXPECT_EQ(outcome.number("errors"), 1);
  ASSERT_NE(outcome.finding("MEM_CORRUPTION_ERR"), nullptr);
  // The seventh pass is the first pattern of the fourth iteration.
  EXPECT_THAT(outcome.finding("MEM_CORRUPTION_ERR")->evidence,
              Contains(HasSubstr("0xAAAAAAAA, iteration 4")));
}

TEST_F(MemoryTest, findsErrorsInTheFirstAndTheLastWord) {
  bench_.parameters.set("size", 4096 * std::uint64_t{17});
  bench_.ram.damage = [](std::span<std::byte> region) {
    put(region, 0, 1);
    put(region, region.size() - 8, 2);
  };
  EXPECT_EQ(run().number("errors"), 4);
}

TEST_F(MemoryTest, aStormIsCountedAndItsListHasAnEnd) {
  bench_.ram.damage = [](std::span<std::byte> region) { std::memset(region.data(), 0, 1 * mib); };
  const Outcome outcome = run();
  EXPECT_EQ(outcome.step.state, StepState::fail);
  EXPECT_EQ(outcome.number("errors"), 2.0 * mib / 8);
  EXPECT_EQ(count(outcome.journal, "assay.memory.mismatch"), 1000U);
  EXPECT_THAT(outcome.finding("MEM_CORRUPTION_ERR")->message, HasSubstr("1000 or more"));
  EXPECT_THAT(outcome.finding("MEM_CORRUPTION_ERR")->message, HasSubstr("262144 reads"));
  EXPECT_LE(outcome.finding("MEM_CORRUPTION_ERR")->evidence.size(), 8U);
}

TEST_F(MemoryTest, stopsSoonWhenCancelledAndKeepsWhatItFound) {
  int settled = 0;
  bench_.parameters.set("iterations", std::uint64_t{1'000'000});
  bench_.ram.damage = [&](std::span<std::byte> region) {
    put(region, 0, 0x1234);
    if (++settled == 3) bench_.cancel.cancel();
  };
  const Outcome outcome = run();
  ASSERT_FALSE(outcome.result);
  EXPECT_EQ(outcome.result.error().kind, ErrorKind::cancelled);
  EXPECT_EQ(settled, 3);
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

TEST_F(MemoryTest, lessThanThePlansMinimumIsNoTest) {
  bench_.parameters.set("minimum", 16 * mib);
  const Outcome outcome = run();
  ASSERT_FALSE(outcome.result);
  EXPECT_EQ(outcome.result.error().kind, ErrorKind::unavailable);
  EXPECT_EQ(outcome.step.state, StepState::error);
  EXPECT_EQ(outcome.measurement("errors"), nullptr);
}

TEST_F(MemoryTest, saysWhatOneFixedPatternIsWorth) {
  bench_.parameters.set("tests", std::vector<std::string>{"0xAAAAAAAA"});
  EXPECT_TRUE(run().logged("one fixed pattern"));
  bench_.parameters.set("tests", std::vector<std::string>{"0xAAAAAAAA", "0x55555555"});
  EXPECT_FALSE(run().logged("one fixed pattern"));
}

TEST_F(MemoryTest, checksItsParametersBeforeTheRun) {
  const auto preflight = memory_test_probe().preflight;
  EXPECT_TRUE(preflight(bench_.bench(), bench_.parameters));
  bench_.parameters.set("size", std::uint64_t{1} << 55);
  auto refused = preflight(bench_.bench(), bench_.parameters);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().where, "size");
  bench_.parameters.set("size", AvailableSize{});
  EXPECT_TRUE(preflight(bench_.bench(), bench_.parameters));

  const auto check = memory_test_probe().check;
  EXPECT_TRUE(check(bench_.parameters));
  bench_.parameters.set("tests", std::vector<std::string>{"0xAAAAAAAA", "march"});
  refused = check(bench_.parameters);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().where, "tests");
  EXPECT_THAT(refused.error().what, HasSubstr("march"));
  bench_.parameters.set("tests", std::vector<std::string>{"0xAAAAAAAA"});
  bench_.parameters.set("size", std::uint64_t{4095});
  EXPECT_EQ(check(bench_.parameters).error().where, "size");
  bench_.parameters.set("size", std::uint64_t{4096});
  EXPECT_TRUE(check(bench_.parameters));
  bench_.parameters.set("minimum", std::uint64_t{4097});
  EXPECT_EQ(check(bench_.parameters).error().where, "minimum");
}

TEST_F(MemoryTest, saysWhenItTestsLessThanAsked) {
  bench_.parameters.set("size", std::uint64_t{8192});
  EXPECT_FALSE(run().logged("whole pages"));
  bench_.parameters.set("size", std::uint64_t{8193});
  const Outcome outcome = run();
  EXPECT_TRUE(outcome.logged("8193 bytes asked for, 8192 tested"));
  EXPECT_EQ(outcome.number("size"), 8192);
}

}  // namespace
}  // namespace assay::probes
