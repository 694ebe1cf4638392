// What may be asked of the memory test, before it runs.
#include "probes/memory/memory_options.h"

#include <gmock/gmock.h>

#include "tests/probes/memory/memory_test_fixture.h"

namespace assay::probes {
namespace {

using reports::StepState;
using test::Outcome;
using testing::HasSubstr;

using MemoryOptionsTest = MemoryTestFixture;

TEST_F(MemoryOptionsTest, checksItsParametersBeforeTheRun) {
  const auto preflight = memory_test_probe().preflight;
  EXPECT_TRUE(preflight(bench_.bench(), bench_.parameters));
  bench_.parameters.set("size", std::uint64_t{1} << 55);
  const auto refused = preflight(bench_.bench(), bench_.parameters);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().where, "size");
  EXPECT_THAT(refused.error().what, HasSubstr("this machine can spare"));
  // A share is at most that much.
  for (const ParameterValue& can_be :
       {ParameterValue{AvailableSize{}}, ParameterValue{MemoryShare{1}},
        ParameterValue{MemoryShare{100}}}) {
    bench_.parameters.set("size", can_be);
    EXPECT_TRUE(preflight(bench_.bench(), bench_.parameters));
  }
}

// A board that has too little free is not tested; nobody asked for something wrong.
TEST_F(MemoryOptionsTest, lessThanAMinimumIsFoundInTheRunAlsoWithASize) {
  bench_.parameters.set("size", std::uint64_t{1} << 55);
  bench_.parameters.set("minimum", std::uint64_t{1} << 50);
  EXPECT_TRUE(memory_test_probe().preflight(bench_.bench(), bench_.parameters));
  const Outcome outcome = run();
  ASSERT_FALSE(outcome.result);
  EXPECT_EQ(outcome.result.error().kind, ErrorKind::unavailable);
  EXPECT_EQ(outcome.step.state, StepState::error);
}

TEST_F(MemoryOptionsTest, aShareOrASizeWithAMinimumIsCutToWhatCanBeSpared) {
  const std::uint64_t total = *bench_.ram.total();
  bench_.parameters.set("size", MemoryShare{100});
  auto size = memory_size(bench_.parameters, bench_.ram);
  ASSERT_TRUE(size);
  EXPECT_NEAR(static_cast<double>(size->asked), static_cast<double>(total), 100.0);
  EXPECT_LT(size->bytes, total);
  EXPECT_GT(size->bytes, 0U);
  bench_.parameters.set("size", total * 2);
  bench_.parameters.set("minimum", 8 * mib);
  size = memory_size(bench_.parameters, bench_.ram);
  ASSERT_TRUE(size);
  EXPECT_EQ(size->asked, total * 2);
  EXPECT_LT(size->bytes, total);
}

// What is left cannot be told of so many; it must not be computed wrong either.
TEST_F(MemoryOptionsTest, asManyIterationsAsANumberCanSayAreNoTrouble) {
  bench_.ram.at = {0};
  std::atomic<int> writes{0};
  bench_.ram.on_write = [&](std::byte*, std::size_t) {
    if (++writes == 1) bench_.cancel.cancel();
  };
  tests({"0xAA", "bit-fade"});
  bench_.parameters.set("hold", std::uint64_t{1} << 40);
  iterations(UINT64_MAX - 1);
  const Outcome outcome = run();
  ASSERT_FALSE(outcome.result);
  EXPECT_EQ(outcome.result.error().kind, ErrorKind::cancelled);
}

// Half the chips are missing: that is the finding, not that more was asked for than there is.
TEST_F(MemoryOptionsTest, aBoardThatLostMemoryWasNotAskedForTooMuch) {
  bench_.board.memory = MemoryProfile{.total_bytes = std::uint64_t{32} << 30};
  bench_.write("/proc/meminfo", "MemTotal: 16000000 kB\nMemAvailable: 15000000 kB\n");
  bench_.parameters.set("size", std::uint64_t{1} << 55);
  EXPECT_TRUE(memory_test_probe().preflight(bench_.bench(), bench_.parameters));
  const Outcome outcome = run();
  EXPECT_TRUE(outcome.result);
  EXPECT_EQ(outcome.step.state, StepState::fail);
  EXPECT_NE(outcome.finding("MEM_SIZE"), nullptr);
  EXPECT_TRUE(outcome.logged("nothing was tested"));
}

TEST_F(MemoryOptionsTest, refusesParametersThatNoMachineCanDo) {
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

}  // namespace
}  // namespace assay::probes
