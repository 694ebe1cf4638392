#include "probes/thermal/thermal.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/probes/bench_fixture.h"

namespace assay::probes {
namespace {

using reports::StepState;
using test::Outcome;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

class Thermal : public testing::Test {
 protected:
  void zone(const std::string& name, const std::string& temp, const std::string& type = "") {
    bench_.write("/sys/class/thermal/" + name + "/temp", temp);
    if (!type.empty()) bench_.write("/sys/class/thermal/" + name + "/type", type + "\n");
  }
  void with_profile() {
    bench_.board.thermal =
        ThermalProfile{.zone = "thermal_zone0",
                       .limit_mc = 85'000,
                       .throttle_mc = 87'000,
                       .frequency = FrequencyProfile{.file = "/sys/kernel/debug/npu/clk",
                                                     .nominal_hz = 1'200'000'000,
                                                     .throttled_hz = 750'000'000,
                                                     .tolerance_hz = 50'000'000}};
  }
  void clock(std::int64_t hz) {
    bench_.write("/sys/kernel/debug/npu/clk", std::to_string(hz) + "\n");
  }
  Outcome read() { return bench_.run(thermal_read_probe()); }

  test::BenchFixture bench_;
};

using ThermalRead = Thermal;

TEST_F(ThermalRead, measuresEveryZoneAndHoldsTheBoardsAgainstItsLimit) {
  with_profile();
  zone("thermal_zone0", "84999\n", "npu-thermal");
  zone("thermal_zone10", "45200\n", "cpu-thermal");
  bench_.write("/sys/class/thermal/cooling_device0/type", "fan\n");
  const Outcome outcome = read();
  EXPECT_EQ(outcome.step.state, StepState::pass);
  EXPECT_DOUBLE_EQ(outcome.number("temperature", "thermal_zone0 npu-thermal"), 84.999);
  EXPECT_DOUBLE_EQ(outcome.number("temperature", "thermal_zone10 cpu-thermal"), 45.2);
  EXPECT_EQ(outcome.step.measurements.size(), 2U);
  EXPECT_EQ(outcome.step.headline, "85.0 C");
}

TEST_F(ThermalRead, failsOverTheProfilesLimitAndNotAtIt) {
  with_profile();
  zone("thermal_zone0", "85000\n");
  EXPECT_EQ(read().step.state, StepState::pass);
  zone("thermal_zone0", "85001\n");
  const Outcome outcome = read();
  EXPECT_EQ(outcome.step.state, StepState::fail);
  ASSERT_NE(outcome.finding("THERMAL_OVER_LIMIT"), nullptr);
  EXPECT_THAT(outcome.finding("THERMAL_OVER_LIMIT")->evidence, Contains(HasSubstr("85001")));
}

TEST_F(ThermalRead, theLimitIsOfTheBoardsZoneAlone) {
  with_profile();
  zone("thermal_zone0", "40000\n");
  zone("thermal_zone1", "95000\n");
  EXPECT_EQ(read().step.state, StepState::pass);
}

TEST_F(ThermalRead, valuesThatNoSiliconHasAreASensorsFault) {
  with_profile();
  for (const char* value :
       {"-273000", "-273150", "-40001", "127500", "128000", "255000", "2147483647"}) {
    zone("thermal_zone0", value);
    const Outcome outcome = read();
    EXPECT_EQ(outcome.step.state, StepState::fail) << value;
    ASSERT_NE(outcome.finding("THERMAL_SENSOR_IMPLAUSIBLE"), nullptr) << value;
    // Such a value is never measured: it would spoil the statistics.
    EXPECT_EQ(outcome.measurement("temperature"), nullptr) << value;
  }
  for (const char* value : {"0", "-20000", "84000"}) {
    zone("thermal_zone0", value);
    EXPECT_EQ(read().step.state, StepState::pass) << value;
  }
}

TEST_F(ThermalRead, aSensorThatCannotBeReadIsNoPass) {
  with_profile();
  // A folder gives EISDIR where a sleeping sensor gives EIO.
  std::filesystem::create_directories(bench_.root() / "sys/class/thermal/thermal_zone0/temp");
  EXPECT_EQ(read().step.state, StepState::error);
  std::filesystem::remove(bench_.root() / "sys/class/thermal/thermal_zone0/temp");
  EXPECT_EQ(read().step.state, StepState::error);
  for (const char* garbage : {"", "n/a\n", "45.2\n", "0x2d\n"}) {
    zone("thermal_zone0", garbage);
    EXPECT_EQ(read().step.state, StepState::error) << garbage;
  }
}

TEST_F(ThermalRead, withoutAProfileOneZoneThatAnswersIsEnoughAndNoneIsNot) {
  std::filesystem::create_directories(bench_.root() / "sys/class/thermal/thermal_zone0/temp");
  EXPECT_EQ(read().step.state, StepState::error);
  zone("thermal_zone1", "45200\n");
  const Outcome outcome = read();
  EXPECT_EQ(outcome.step.state, StepState::pass);
  EXPECT_TRUE(outcome.logged("thermal_zone0"));
}

TEST_F(ThermalRead, skipsAMachineWithoutZonesAndMissesTheBoards) {
  EXPECT_EQ(read().step.state, StepState::skip);
  std::filesystem::create_directories(bench_.root() / "sys/class/thermal");
  EXPECT_EQ(read().step.state, StepState::skip);
  with_profile();
  Outcome outcome = read();
  EXPECT_EQ(outcome.step.state, StepState::error);
  zone("thermal_zone1", "45200\n");
  outcome = read();
  EXPECT_EQ(outcome.step.state, StepState::error);
  EXPECT_EQ(outcome.result.error().kind, ErrorKind::unavailable);
}

class ThermalSample : public Thermal {
 protected:
  ThermalSample() {
    with_profile();
    zone("thermal_zone0", "60000\n");
    clock(1'200'000'000);
    bench_.write("/dev/kmsg", "4,1,10,-;npu: THERMAL_THROTTLE of an earlier run\n");
  }
  Outcome sample(const std::function<void(Monitor&)>& work) {
    return bench_.monitor(thermal_sample_probe(), work);
  }
};

TEST_F(ThermalSample, followsTemperatureAndClock) {
  const Outcome outcome = sample([&](Monitor& monitor) {
    ASSERT_TRUE(monitor.sample());
    zone("thermal_zone0", "70500\n");
    clock(1'150'000'000);
    ASSERT_TRUE(monitor.sample());
  });
  EXPECT_EQ(outcome.step.state, StepState::pass);
  EXPECT_THAT(outcome.series("temperature")->recent, ElementsAre(60.0, 70.5));
  EXPECT_THAT(outcome.series("frequency")->recent, ElementsAre(1200.0, 1150.0));
}

TEST_F(ThermalSample, aClockThatFallsIsThrottlingWithTheKernelsNewLines) {
  const Outcome outcome = sample([&](Monitor& monitor) {
    ASSERT_TRUE(monitor.sample());
    bench_.root().append("dev/kmsg",
                         "6,2,20,-;unrelated\n4,3,30,-;npu: THERMAL_THROTTLE triggered at 87C\n");
    // The sensor reads less than the core has: the gap under the heat spreader.
    zone("thermal_zone0", "76000\n");
    clock(750'000'000);
    ASSERT_TRUE(monitor.sample());
    ASSERT_TRUE(monitor.sample());
  });
  EXPECT_EQ(outcome.step.state, StepState::fail);
  const auto* finding = outcome.finding("THERMAL_THROTTLE");
  ASSERT_NE(finding, nullptr);
  EXPECT_THAT(finding->message, HasSubstr("750 MHz"));
  EXPECT_THAT(finding->message, HasSubstr("76.0 C"));
  EXPECT_THAT(finding->evidence, Contains(HasSubstr("triggered at 87C")));
  EXPECT_THAT(finding->evidence, Not(Contains(HasSubstr("earlier run"))));
  EXPECT_THAT(finding->evidence, Not(Contains(HasSubstr("unrelated"))));
  EXPECT_THAT(finding->likely, Contains(HasSubstr("heat spreader")));
  // Once, however long it lasts.
  EXPECT_EQ(outcome.step.findings.size(), 1U);
}

TEST_F(ThermalSample, heatThatTheSensorSeesIsNoGap) {
  const Outcome outcome = sample([&](Monitor& monitor) {
    zone("thermal_zone0", "87500\n");
    clock(750'000'000);
    ASSERT_TRUE(monitor.sample());
  });
  ASSERT_NE(outcome.finding("THERMAL_OVER_LIMIT"), nullptr);
  ASSERT_NE(outcome.finding("THERMAL_THROTTLE"), nullptr);
  EXPECT_THAT(outcome.finding("THERMAL_THROTTLE")->likely, Contains(HasSubstr("air way")));
}

TEST_F(ThermalSample, newLinesCountAlsoWhenTheLogWrapsAround) {
  const Outcome outcome = sample([&](Monitor& monitor) {
    // The ring buffer lost the old record when the new one came.
    bench_.write("/dev/kmsg", "4,9,30,-;npu: THERMAL_THROTTLE triggered at 87C\n");
    clock(750'000'000);
    ASSERT_TRUE(monitor.sample());
  });
  EXPECT_THAT(outcome.finding("THERMAL_THROTTLE")->evidence,
              Contains(HasSubstr("triggered at 87C")));
}

TEST_F(ThermalSample, aSensorThatBreaksIsReportedOnceAndKeptOutOfTheSeries) {
  const Outcome outcome = sample([&](Monitor& monitor) {
    ASSERT_TRUE(monitor.sample());
    zone("thermal_zone0", "255000\n");
    ASSERT_TRUE(monitor.sample());
    ASSERT_TRUE(monitor.sample());
  });
  EXPECT_EQ(outcome.step.state, StepState::fail);
  EXPECT_EQ(outcome.step.findings.size(), 1U);
  EXPECT_NE(outcome.finding("THERMAL_SENSOR_IMPLAUSIBLE"), nullptr);
  EXPECT_EQ(outcome.series("temperature")->max, 60.0);
}

TEST_F(ThermalSample, aBrokenSensorDoesNotHideAClockThatFalls) {
  const Outcome outcome = sample([&](Monitor& monitor) {
    zone("thermal_zone0", "255000\n");
    clock(750'000'000);
    ASSERT_TRUE(monitor.sample());
  });
  EXPECT_EQ(outcome.series("frequency")->count, 1U);
  EXPECT_NE(outcome.finding("THERMAL_THROTTLE"), nullptr);
}

TEST_F(ThermalSample, aSensorThatGoesAwayIsAnErrorOfTheSample) {
  sample([&](Monitor& monitor) {
    ASSERT_TRUE(monitor.sample());
    zone("thermal_zone0", "n/a\n");
    EXPECT_FALSE(monitor.sample());
    zone("thermal_zone0", "61000\n");
    bench_.write("/sys/kernel/debug/npu/clk", "\n");
    EXPECT_FALSE(monitor.sample());
  });
}

TEST_F(ThermalSample, doesWithoutAClockWhereTheProfileNamesNone) {
  bench_.board.thermal->frequency.reset();
  const Outcome outcome = sample([](Monitor& monitor) { ASSERT_TRUE(monitor.sample()); });
  EXPECT_EQ(outcome.step.state, StepState::pass);
  EXPECT_EQ(outcome.series("frequency"), nullptr);
}

// A step that should be observed and is not must not pass for one that was.
TEST_F(ThermalSample, whatTheProfileNamesAndIsNotThereIsAnError) {
  std::filesystem::remove(bench_.root() / "sys/kernel/debug/npu/clk");
  EXPECT_EQ(sample([](Monitor&) { FAIL(); }).result.error().kind, ErrorKind::io);
  bench_.board.thermal->zone = "thermal_zone7";
  EXPECT_EQ(sample([](Monitor&) { FAIL(); }).result.error().kind, ErrorKind::io);
}

TEST_F(ThermalSample, isUnavailableForABoardWithoutAZone) {
  bench_.board.thermal.reset();
  EXPECT_EQ(sample([](Monitor&) { FAIL(); }).result.error().kind, ErrorKind::unavailable);
}

}  // namespace
}  // namespace assay::probes
