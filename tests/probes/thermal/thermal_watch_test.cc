// thermal.watch: the load of its own, and what a course on a live tree tells.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <optional>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <filesystem>

#include "base/atomic_file.h"
#include "base/clock.h"
#include "probes/thermal/sensor_list.h"
#include "probes/thermal/thermal.h"
#include "tests/probes/bench_fixture.h"
#include "tests/support/every.h"

namespace assay::probes {
namespace {

using reports::StepState;
using test::Outcome;

// An NPU that only counts how many of its units are at work.
class CountingNpu final : public runtime::NpuDevice {
 public:
  Result<runtime::Mapping> map(std::uint64_t, runtime::Placement) override {
    return fail(ErrorKind::unavailable, "no memory here");
  }
  void unmap(std::uint64_t) override {}
  std::uint64_t max_chunk_bytes() const override { return 0; }
  Result<> pool_flush() override { return fail(ErrorKind::unavailable, "no pool"); }
  Result<> pool_defragment() override { return fail(ErrorKind::unavailable, "no pool"); }
  runtime::PoolInfo pool_info() const override { return {}; }
  void set_active_units(unsigned active) override { active_ = active; }
  unsigned units() const override { return 4; }
  void pace(std::int64_t) override {}

  double share() const { return active_ / 4.0; }

 private:
  std::atomic<unsigned> active_{0};
};

// A board whose zone follows its NPU with a time constant of 1.5 s, 1.8 K/W, idle 6 W, peak 32 W.
class LiveBoard {
 public:
  LiveBoard(const test::Scratch& root, const CountingNpu& npu, double resistance, bool has_power)
      : root_(root), npu_(npu), resistance_(resistance), has_power_(has_power) {
    std::filesystem::create_directories(root / "sys/class/thermal/thermal_zone0");
    std::filesystem::create_directories(root / "sys/class/hwmon/hwmon0");
    put();
    course_.emplace(std::chrono::milliseconds(5), [this, before = monotonic_ns()](int) mutable {
      const std::int64_t now = monotonic_ns();
      const double steady = 25 + resistance_ * power();
      c_ += (steady - c_) * (1 - std::exp(-static_cast<double>(now - before) / 1.5e9));
      before = now;
      put();
    });
  }

 private:
  double power() const { return 6 + 26 * npu_.share(); }
  void put() const {
    (void)write_file_atomically(root_ / "sys/class/thermal/thermal_zone0/temp",
                                std::to_string(std::llround(c_ * 1000)) + "\n",
                                Durability::visible);
    if (!has_power_) return;
    (void)write_file_atomically(root_ / "sys/class/hwmon/hwmon0/power1_input",
                                std::to_string(std::llround(power() * 1e6)) + "\n",
                                Durability::visible);
  }

  const test::Scratch& root_;
  const CountingNpu& npu_;
  double resistance_;
  bool has_power_;
  double c_ = 25 + resistance_ * 6;
  std::optional<test::Every> course_;
};

class ThermalWatchStep : public testing::Test {
 protected:
  ThermalWatchStep() {
    bench_.npu = &npu_;
    bench_.board.thermal = ThermalProfile{.zone = "thermal_zone0",
                                          .limit_mc = 105'000,
                                          .throttle_mc = 110'000,
                                          .golden = GoldenThermal{.time_s = 1.5,
                                                                  .resistance_k_per_w = 1.8,
                                                                  .base_mc = 25'000,
                                                                  .base_tolerance_mc = 3'000,
                                                                  .tolerance = 0.15}};
    bench_.parameters.set("time", static_cast<std::uint64_t>(7 * ns_per_s));
  }
  Outcome watch() { return bench_.run(thermal_watch_probe()); }

  CountingNpu npu_;
  test::BenchFixture bench_;
};

TEST_F(ThermalWatchStep, heatsTheBoardAndFitsHowItWarms) {
  const LiveBoard board(bench_.root(), npu_, 1.8, true);
  const Outcome outcome = watch();
  EXPECT_EQ(outcome.step.state, StepState::pass) << outcome.journal;
  EXPECT_NEAR(outcome.number("thermal_resistance"), 1.8, 0.1);
  EXPECT_NEAR(outcome.number("time_constant"), 1.5, 0.2);
  EXPECT_NEAR(outcome.number("base_temperature"), 25, 1.5);
  EXPECT_NEAR(outcome.number("steady_temperature"), 25 + 1.8 * 32, 2);
  EXPECT_EQ(npu_.share(), 0) << "the load goes with the step";
}

TEST_F(ThermalWatchStep, withoutPowerItFitsTheRiseAndSaysSo) {
  bench_.board.thermal->golden->resistance_k_per_w.reset();
  bench_.board.thermal->golden->rise_k = 1.8 * 26;
  bench_.board.thermal->golden->base_mc = 35'800;
  const LiveBoard board(bench_.root(), npu_, 1.8, false);
  const Outcome outcome = watch();
  EXPECT_EQ(outcome.step.state, StepState::pass) << outcome.journal;
  EXPECT_EQ(outcome.measurement("thermal_resistance"), nullptr);
  EXPECT_NEAR(outcome.number("thermal_rise"), 1.8 * 26, 2);
  EXPECT_TRUE(outcome.logged("the board measures no power"));
}

TEST_F(ThermalWatchStep, aBoardThatWarmsMoreInTheSameTimeHasAPoorContact) {
  const LiveBoard board(bench_.root(), npu_, 2.3, true);
  const Outcome outcome = watch();
  ASSERT_NE(outcome.finding("THERMAL_CONTACT_POOR"), nullptr) << outcome.journal;
  EXPECT_EQ(outcome.step.findings.size(), 1U);
}

TEST_F(ThermalWatchStep, aCourseThatTellsNothingIsSaid) {
  bench_.parameters.set("time", static_cast<std::uint64_t>(300 * ns_per_ms));
  const LiveBoard board(bench_.root(), npu_, 1.8, true);
  const Outcome outcome = watch();
  EXPECT_EQ(outcome.step.state, StepState::pass);
  EXPECT_EQ(outcome.measurement("time_constant"), nullptr);
  EXPECT_TRUE(outcome.logged("the course tells no resistance"));
}

TEST_F(ThermalWatchStep, skipsAMachineWithoutAZone) {
  bench_.board.thermal.reset();
  EXPECT_EQ(watch().step.state, StepState::skip);
  bench_.board.thermal = ThermalProfile{.zone = "thermal_zone0"};
  EXPECT_EQ(watch().step.state, StepState::error);
}

// This machine itself, whatever it has: a verdict or a clean skip, never a crash or a finding of a
// sensor that works.
TEST(ThermalOnThisMachine, isReadOrSkippedCleanly) {
  const Machine machine;
  const ThermalInventory all = thermal_inventory(machine);
  test::BenchFixture bench;
  const probes::Bench plain = bench.bench();
  const probes::Bench real{machine, plain.board, plain.npu, plain.ram, plain.workers};
  Probe probe = thermal_read_probe();
  const auto run = probe.run;
  probe.run = [&](StepContext& context) {
    StepContext here{real, context.parameters, context.recorder, context.cancel};
    return run(here);
  };
  const Outcome outcome = bench.run(probe);
  const bool has_sensor =
      !all.zones.empty() ||
      std::any_of(all.sensors.begin(), all.sensors.end(), [](const HwmonSensor& sensor) {
        return sensor.kind == HwmonSensor::Kind::temperature;
      });
  if (has_sensor) {
    EXPECT_NE(outcome.step.state, StepState::skip);
  } else {
    EXPECT_EQ(outcome.step.state, StepState::skip);
  }
}

}  // namespace
}  // namespace assay::probes
