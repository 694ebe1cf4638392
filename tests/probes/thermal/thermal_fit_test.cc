// The fit and what it tells, on boards that a network of heat capacities simulates step by step.
#include "probes/thermal/thermal_fit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "probes/thermal/thermal_diagnosis.h"

namespace assay::probes {
namespace {

// Core -> contact -> cooler -> air. Resistances in K/W, capacities in J/K.
struct SimulatedCooler {
  double contact = 0.2;
  double air = 1.6;
  double core_capacity = 5;
  double cooler_capacity = 40;
  double room_c = 25;
  double sensor_offset_k = 0;
  double sensor_gain = 1;
  double noise_k = 0.15;

  // A course of some seconds, readings `interval_s` apart, from the steady state of its first
  // power.
  template <class Power>
  std::vector<ThermalSample> run(double seconds, double interval_s, Power power) const {
    std::mt19937_64 random(11);
    std::normal_distribution<double> noise(0, noise_k);
    double cooler = room_c + power(0) * air;
    double core = cooler + power(0) * contact;
    std::vector<ThermalSample> samples;
    constexpr double step = 0.001;
    double next = 0;
    for (double t = 0; t <= seconds; t += step) {
      if (t >= next) {
        samples.push_back({t, sensor_offset_k + sensor_gain * core + noise(random), power(t)});
        next += interval_s;
      }
      const double through_contact = (core - cooler) / contact;
      const double core_heats = (power(t) - through_contact) / core_capacity;
      const double cooler_heats = (through_contact - (cooler - room_c) / air) / cooler_capacity;
      core += core_heats * step;
      cooler += cooler_heats * step;
    }
    return samples;
  }
};

double step_load(double t) {
  return t < 20 ? 6 : 32;
}

// A single capacity: what the model is.
SimulatedCooler first_order() {
  return {.contact = 1e-2, .air = 1.8, .core_capacity = 0.5, .cooler_capacity = 40};
}

TEST(ThermalFit, recoversResistanceTimeConstantAndRoom) {
  const auto fit = fit_first_order(first_order().run(400, 1, step_load), true);
  ASSERT_TRUE(fit);
  EXPECT_NEAR(fit->resistance, 1.81, 4 * fit->u_resistance + 0.005);
  EXPECT_NEAR(fit->time_s, 1.8 * 40, 4 * fit->u_time_s + 1);
  EXPECT_NEAR(fit->base_c, 25, 4 * fit->u_base_c + 0.1);
  EXPECT_NEAR(fit->steady_c(32), 25 + 1.81 * 32, 0.5);
  EXPECT_NEAR(fit->rms_k, 0.15, 0.05);
  EXPECT_LT(fit->u_resistance, 0.02);
}

TEST(ThermalFit, predictsTheSteadyStateBeforeItIsReached) {
  // Two and a half time constants: 8 % of the rise are still to come.
  const auto samples = first_order().run(20 + 180, 1, step_load);
  const auto fit = fit_first_order(samples, true);
  ASSERT_TRUE(fit);
  const double steady = 25 + 1.81 * 32;
  EXPECT_LT(samples.back().c, steady - 2.5);
  EXPECT_NEAR(fit->steady_c(32), steady, 1.0);
}

TEST(ThermalFit, anyCourseOfThePowerWillDo) {
  const auto fit = fit_first_order(
      first_order().run(600, 1,
                        [](double t) { return 6 + 26 * (std::fmod(t, 130) < 70 ? 1.0 : 0.2); }),
      true);
  ASSERT_TRUE(fit);
  EXPECT_NEAR(fit->resistance, 1.81, 0.05);
  EXPECT_NEAR(fit->time_s, 72, 3);
  EXPECT_NEAR(fit->base_c, 25, 0.7);
}

TEST(ThermalFit, itsUncertaintiesAreThoseOfRepeatedCourses) {
  // The scatter of 40 fits, which differ by their noise alone, beside what each of them states.
  std::mt19937_64 random(2);
  std::normal_distribution<double> noise(0, 0.3);
  SimulatedCooler quiet = first_order();
  quiet.noise_k = 0;
  const auto clean = quiet.run(300, 1, step_load);
  double sum = 0;
  double squares = 0;
  double stated = 0;
  constexpr int fits = 40;
  for (int i = 0; i < fits; ++i) {
    auto noisy = clean;
    for (auto& sample : noisy) sample.c += noise(random);
    const auto fit = fit_first_order(noisy, true);
    ASSERT_TRUE(fit);
    sum += fit->resistance / fits;
    squares += fit->resistance * fit->resistance / fits;
    stated += fit->u_resistance / fits;
  }
  const double scatter = std::sqrt((squares - sum * sum) * fits / (fits - 1));
  EXPECT_GT(stated, 0.6 * scatter);
  EXPECT_LT(stated, 1.8 * scatter);
}

TEST(ThermalFit, whatDoesNotTellIsNotFitted) {
  const SimulatedCooler cooler = first_order();
  EXPECT_FALSE(fit_first_order({}, true));
  EXPECT_FALSE(fit_first_order(cooler.run(400, 1, [](double) { return 6.0; }), true)) << "at rest";
  EXPECT_FALSE(fit_first_order(cooler.run(400, 30, step_load), true)) << "too few samples";
  EXPECT_FALSE(fit_first_order(cooler.run(900, 20, step_load), true)) << "too far apart";
  EXPECT_FALSE(fit_first_order(cooler.run(60, 1, step_load), true)) << "too short";
  EXPECT_FALSE(
      fit_first_order(cooler.run(400, 1, [](double t) { return t < 20 ? 6.0 : 7.0; }), true))
      << "hardly any rise";
}

TEST(ThermalCourse, keepsAnyLengthInBoundedMemoryAndItsMeanPower) {
  ThermalCourse course;
  constexpr std::size_t count = ThermalCourse::most_samples * 5;
  for (std::size_t i = 0; i < count; ++i) {
    course.add({static_cast<double>(i), 40, i % 2 == 0 ? 10.0 : 30.0});
  }
  EXPECT_LT(course.samples().size(), ThermalCourse::most_samples);
  EXPECT_GE(course.samples().size(), ThermalCourse::most_samples / 2);
  double before = -1;
  double power = 0;
  for (const ThermalSample& sample : course.samples()) {
    EXPECT_GT(sample.time_s, before);
    before = sample.time_s;
    power += sample.power / static_cast<double>(course.samples().size());
  }
  EXPECT_NEAR(power, 20, 0.1);
  EXPECT_GT(before, static_cast<double>(count) * 0.99);
}

// What a good board of the network above shows, by the same fit: the golden board.
class GoldenBoard : public testing::Test {
 protected:
  static std::optional<ThermalFit> fit_of(const SimulatedCooler& cooler) {
    return fit_first_order(cooler.run(420, 1, step_load), true);
  }
  GoldenBoard() {
    const auto fit = fit_of({});
    golden_ = {.time_s = fit->time_s,
               .resistance_k_per_w = fit->resistance,
               .base_mc = static_cast<std::int64_t>(fit->base_c * 1000),
               .base_tolerance_mc = 3000,
               .tolerance = 0.1};
  }
  ThermalCause cause_of(const SimulatedCooler& cooler) {
    const auto fit = fit_of(cooler);
    if (!fit) throw std::runtime_error("no fit");
    return compare_with_golden(*fit, true, golden_)->cause;
  }
  GoldenThermal golden_;
};

TEST_F(GoldenBoard, anotherGoodOneIsGood) {
  EXPECT_EQ(cause_of({}), ThermalCause::none);
  EXPECT_EQ(cause_of({.contact = 0.23, .air = 1.65, .room_c = 27}), ThermalCause::none);
}

TEST_F(GoldenBoard, poorContactIsToldFromAWeakFanAndFromDrift) {
  // 0.36 K/W more under the spreader: the known gap, seen by a sensor in the core.
  EXPECT_EQ(cause_of({.contact = 0.56}), ThermalCause::contact);
  EXPECT_EQ(cause_of({.contact = 0.80}), ThermalCause::contact);
  // Half the air: the resistance behind the cooler's capacity.
  EXPECT_EQ(cause_of({.air = 2.0}), ThermalCause::fan);
  EXPECT_EQ(cause_of({.air = 2.6}), ThermalCause::fan);
  EXPECT_EQ(cause_of({.sensor_offset_k = -6}), ThermalCause::sensor);
  EXPECT_EQ(cause_of({.sensor_offset_k = 5}), ThermalCause::sensor);
  EXPECT_EQ(cause_of({.sensor_gain = 1.3}), ThermalCause::sensor);
  EXPECT_EQ(cause_of({.sensor_gain = 0.7}), ThermalCause::sensor);
}

TEST_F(GoldenBoard, aHotterRoomDoesNotHideAPoorContactOrAWeakFan) {
  // A third more resistance, a sixth more of the level: no gain does that.
  EXPECT_EQ(cause_of({.contact = 0.8, .room_c = 29}), ThermalCause::contact);
  EXPECT_EQ(cause_of({.air = 2.4, .room_c = 31}), ThermalCause::fan);
}

TEST_F(GoldenBoard, withoutPowerTheRiseIsCompared) {
  const auto load = [](double t) { return t < 20 ? 0.0 : 1.0; };
  const auto fit_of_load = [&](const SimulatedCooler& cooler) {
    auto samples = cooler.run(420, 1, step_load);
    for (auto& sample : samples) sample.power = load(sample.time_s);
    return *fit_first_order(samples, true);
  };
  const ThermalFit good = fit_of_load({});
  EXPECT_FALSE(compare_with_golden(good, false, golden_));
  golden_.resistance_k_per_w.reset();
  golden_.rise_k = good.resistance;
  golden_.base_mc = static_cast<std::int64_t>(good.base_c * 1000);
  EXPECT_EQ(compare_with_golden(good, false, golden_)->cause, ThermalCause::none);
  EXPECT_EQ(compare_with_golden(fit_of_load({.air = 2.4}), false, golden_)->cause,
            ThermalCause::fan);
  EXPECT_EQ(compare_with_golden(fit_of_load({.sensor_offset_k = -6}), false, golden_)->cause,
            ThermalCause::sensor);
}

TEST_F(GoldenBoard, atRestTheLevelTellsTheSensor) {
  golden_ = {.time_s = 60,
             .resistance_k_per_w = 1.8,
             .base_mc = 25'000,
             .base_tolerance_mc = 3000,
             .tolerance = 0.1};
  // 25 + 1.8 * 6 = 35.8 C; the margin is 3 + 0.1 * 10.8 = 4.08 K.
  EXPECT_FALSE(compare_rest_with_golden(35.8, 6, golden_).is_off());
  EXPECT_FALSE(compare_rest_with_golden(39.8, 6, golden_).is_off());
  EXPECT_TRUE(compare_rest_with_golden(40.0, 6, golden_).is_off());
  EXPECT_TRUE(compare_rest_with_golden(29.8, 6, golden_).is_off());
  EXPECT_NEAR(compare_rest_with_golden(29.8, 6, golden_).off_k, -6, 1e-9);
  // A golden level without power says nothing of a board whose power nobody knows.
  EXPECT_FALSE(compare_rest_with_golden(10, std::nullopt, golden_).is_off());
  golden_.rise_k = 46;
  EXPECT_TRUE(compare_rest_with_golden(10, std::nullopt, golden_).is_off());
}

}  // namespace
}  // namespace assay::probes
