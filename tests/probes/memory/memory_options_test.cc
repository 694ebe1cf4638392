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
TEST_F(MemoryOptionsTest, lessThanAMinimumIsFoundInTheRunAlsoWithASize) {
  bench_.parameters.set("size", std::uint64_t{1} << 55);
  bench_.parameters.set("minimum", std::uint64_t{1} << 50);
  EXPECT_TRUE(memory_test_probe().preflight(bench_.bench(), bench_.parameters));
  const Outcome outcome = run();
  ASSERT_FALSE(outcome.result);
  EXPECT_EQ(outcome.result.error().kind, ErrorKind::unavailable);
  EXPECT_EQ(outcome.step.state, StepState::error);
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
