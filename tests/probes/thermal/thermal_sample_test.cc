#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <functional>

#include "base/clock.h"
#include "tests/probes/thermal/thermal_fixture.h"

namespace assay::probes {
namespace {

using reports::StepState;
using test::Outcome;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

class ThermalSample : public test::Thermal {
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

TEST_F(ThermalSample, aClockAboveItsNominalOneIsNoThrottle) {
  const Outcome outcome = sample([&](Monitor& monitor) {
    clock(1'250'000'000);
    ASSERT_TRUE(monitor.sample());
    clock(1'250'000'001);
    ASSERT_TRUE(monitor.sample());
  });
  EXPECT_NE(outcome.finding("NPU_CLOCK_HIGH"), nullptr);
  EXPECT_EQ(outcome.finding("THERMAL_THROTTLE"), nullptr);
  EXPECT_EQ(outcome.series("frequency")->outside, 1U);
}

TEST_F(ThermalSample, saysWhetherTheClockIsThatOfTheThrottle) {
  for (const auto& [hz, says] : {std::pair{800'000'000, "the clock of its throttle"},
                                 {801'000'000, "neither its clock nor that of its throttle"}}) {
    clock(1'200'000'000);
    const Outcome outcome = sample([&, reads = hz](Monitor& monitor) {
      clock(reads);
      ASSERT_TRUE(monitor.sample());
    });
    EXPECT_THAT(outcome.finding("THERMAL_THROTTLE")->evidence, Contains(HasSubstr(says))) << hz;
  }
}

TEST_F(ThermalSample, measuresTheTimeToThrottle) {
  const std::int64_t start = monotonic_ns();
  double seconds = 0;
  const Outcome outcome = sample([&](Monitor& monitor) {
    ASSERT_TRUE(monitor.sample());
    while (monotonic_ns() - start < 100 * ns_per_ms) ASSERT_TRUE(monitor.sample());
    clock(750'000'000);
    ASSERT_TRUE(monitor.sample());
    seconds = static_cast<double>(monotonic_ns() - start) / 1e9;
  });
  EXPECT_GE(outcome.number("time_to_throttle"), 0.09);
  EXPECT_LE(outcome.number("time_to_throttle"), seconds);
  clock(1'200'000'000);
  EXPECT_EQ(sample([&](Monitor& monitor) {
              ASSERT_TRUE(monitor.sample());
            }).measurement("time_to_throttle"),
            nullptr);
}

TEST_F(ThermalSample, aThrottleBetweenTwoSamplesIsInTheKernelsLog) {
  const Outcome outcome = sample([&](Monitor& monitor) {
    ASSERT_TRUE(monitor.sample());
    bench_.root().append("dev/kmsg", "4,3,30,-;npu: THERMAL_THROTTLE triggered at 87C\n");
    ASSERT_TRUE(monitor.sample());
  });
  EXPECT_EQ(outcome.step.state, StepState::fail);
  ASSERT_NE(outcome.finding("THERMAL_THROTTLE"), nullptr);
  EXPECT_THAT(outcome.finding("THERMAL_THROTTLE")->evidence, ElementsAre(HasSubstr("at 87C")));
}

TEST_F(ThermalSample, theGuardBandIsHeldUnderLoadToo) {
  bench_.board.thermal->uncertainty_mc = 1'000;
  const Outcome outcome = sample([&](Monitor& monitor) {
    zone("thermal_zone0", "84000\n");
    ASSERT_TRUE(monitor.sample());
    zone("thermal_zone0", "84100\n");
    ASSERT_TRUE(monitor.sample());
  });
  EXPECT_EQ(outcome.series("temperature")->outside, 1U);
  EXPECT_THAT(outcome.finding("THERMAL_OVER_LIMIT")->message, HasSubstr("not shown to be within"));
}

TEST_F(ThermalSample, aBusySensorIsAskedAgainAndNotForEver) {
  std::filesystem::remove(bench_.root() / "sys/class/thermal/thermal_zone0/temp");
  const std::string path = bench_.root() / "sys/class/thermal/thermal_zone0/temp";
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
  const UniqueFd sensor(open(path.c_str(), O_RDWR | O_CLOEXEC));
  sample([&](Monitor& monitor) {
    for (int i = 0; i < 5; ++i) EXPECT_TRUE(monitor.sample()) << i;
    EXPECT_FALSE(monitor.sample());
  });
}

TEST_F(ThermalSample, aSensorThatJumpsOrSticksUnderLoadIsTold) {
  const Outcome jumps = sample([&](Monitor& monitor) {
    for (int i = 0; i < 10; ++i) {
      zone("thermal_zone0", i % 2 == 0 ? "45000\n" : "65000\n");
      ASSERT_TRUE(monitor.sample());
    }
  });
  EXPECT_NE(jumps.finding("THERMAL_SENSOR_JUMPING"), nullptr);
  EXPECT_EQ(jumps.step.findings.size(), 1U);
  zone("thermal_zone0", "45000\n");
  const auto with_power = [&](int from_w, int to_w) {
    return sample([&](Monitor& monitor) {
      for (int i = 0; i < 50; ++i) {
        bench_.write("/sys/class/hwmon/hwmon0/power1_input",
                     std::to_string((i < 10 ? from_w : to_w) * 1'000'000) + "\n");
        ASSERT_TRUE(monitor.sample());
      }
    });
  };
  // Made before the monitor looks for it.
  bench_.write("/sys/class/hwmon/hwmon0/power1_input", "6000000\n");
  EXPECT_NE(with_power(6, 32).finding("THERMAL_SENSOR_STUCK"), nullptr);
  EXPECT_EQ(with_power(6, 7).finding("THERMAL_SENSOR_STUCK"), nullptr);
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
