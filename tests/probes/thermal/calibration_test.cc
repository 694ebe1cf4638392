#include "probes/thermal/calibration.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace assay::probes {
namespace {

// A board whose sensor reads `offset_k` (and by a gain) too little, beside a reference.
struct SimulatedBoard {
  double offset_k = 1.8;
  double gain = 1;               // degrees of truth for a degree of the sensor
  double sensor_noise_k = 0.15;  // one standard deviation
  double sensor_step_k = 0.001;
  double reference_error_k = 0;  // the same in all readings of a board
  double reference_noise_k = 0.1;
  double reference_step_k = 0.1;
  double outliers = 0;  // share of readings that are far off

  std::vector<ReadingPair> read(std::size_t count, double from_c, double to_c,
                                std::mt19937_64& random) const {
    const auto quantized = [](double c, double step) { return std::round(c / step) * step; };
    std::normal_distribution<double> normal;
    std::uniform_real_distribution<double> uniform;
    std::vector<ReadingPair> pairs;
    for (std::size_t i = 0; i < count; ++i) {
      const double truth = from_c + (to_c - from_c) * static_cast<double>(i) /
                                        static_cast<double>(std::max<std::size_t>(count - 1, 1));
      ReadingPair pair;
      pair.sensor_c =
          quantized((truth - offset_k) / gain + sensor_noise_k * normal(random), sensor_step_k);
      pair.reference_c = quantized(truth + reference_error_k + reference_noise_k * normal(random),
                                   reference_step_k);
      if (uniform(random) < outliers) pair.reference_c += uniform(random) < 0.5 ? 15 : -15;
      pairs.push_back(pair);
    }
    return pairs;
  }
};

// How many of 1,000 boards have the offset within what was stated.
int covered(std::size_t readings, double from_c, double to_c, const CalibrationSettings& settings,
            const SimulatedBoard& like, double reference_half_width, double truth_k) {
  std::mt19937_64 random(20260401);
  std::uniform_real_distribution<double> rectangular(-reference_half_width, reference_half_width);
  int within = 0;
  for (int i = 0; i < 1000; ++i) {
    SimulatedBoard board = like;
    board.reference_error_k = rectangular(random);
    const auto result = calibrate(board.read(readings, from_c, to_c, random), settings);
    if (!result) continue;
    within += std::abs(result->correction_k - truth_k) <= result->expanded_k;
  }
  return within;
}

TEST(Calibration, recoversAPlantedOffsetWithinItsUncertaintyOn950Of1000Boards) {
  // An infrared thermometer of 2 C or 2 %, whose error is anywhere within that, and one reading of
  // twenty far off.
  const SimulatedBoard board{.offset_k = 1.800, .outliers = 0.05};
  EXPECT_GE(covered(20, 60, 60, {}, board, 2.0, 1.800), 950);
}

TEST(Calibration, theUncertaintyIsNotLargerThanItMustBe) {
  // A reference without an error of its own: what is left is scatter, and k = 2 covers 95.45 % of a
  // normal distribution. 1,000 boards: within 3 standard deviations (2.0 %).
  CalibrationSettings settings;
  settings.accuracy = {0, 0};
  const SimulatedBoard board{.offset_k = 1.800, .sensor_noise_k = 0.3, .reference_step_k = 0.001};
  for (const std::size_t readings : {6U, 10U, 20U, 50U}) {
    const int within = covered(readings, 60, 60, settings, board, 0, 1.800);
    EXPECT_GE(within, 930) << readings;
    EXPECT_LE(within, 985) << readings;
  }
}

TEST(Calibration, coversAPlantedGainToo) {
  CalibrationSettings settings;
  settings.accuracy = {0.3, 0};
  settings.wanted_at_c = 80;
  // truth = 1.8 + 1.02 sensor: at 80 C of the sensor the correction is 1.8 + 1.6.
  const SimulatedBoard board{.offset_k = 1.800, .gain = 1.02, .outliers = 0.05};
  EXPECT_GE(covered(24, 35, 80, settings, board, 0.3, 1.8 + 0.02 * 80), 950);
}

TEST(Calibration, theDataChooseBetweenOffsetAndGain) {
  std::mt19937_64 random(5);
  const SimulatedBoard plain{.offset_k = 1.8};
  const SimulatedBoard tilted{.offset_k = 1.8, .gain = 1.03};
  int gains_of_plain = 0;
  for (int i = 0; i < 200; ++i) {
    gains_of_plain += calibrate(plain.read(20, 35, 80, random), {})->with_gain;
    const auto result = calibrate(tilted.read(20, 35, 80, random), {});
    EXPECT_TRUE(result->with_gain);
    EXPECT_NEAR(result->gain, 1.03, 0.015);
  }
  // The margin of 4 lets one of about 70 through (chi-squared, one degree of freedom, over 6).
  EXPECT_LE(gains_of_plain, 10);
  // At one temperature there is no gain to see.
  EXPECT_FALSE(calibrate(tilted.read(20, 60, 60, random), {})->with_gain);
}

TEST(Calibration, outliersAreLeftOutAndCounted) {
  std::mt19937_64 random(9);
  auto pairs = SimulatedBoard{.offset_k = 1.8}.read(20, 60, 60, random);
  pairs[3].reference_c = 85.0;
  pairs[11].sensor_c = 0;
  const auto result = calibrate(pairs, {});
  ASSERT_TRUE(result);
  EXPECT_EQ(result->outliers, 2U);
  EXPECT_NEAR(result->correction_k, 1.8, 0.2);
}

TEST(Calibration, theBudgetIsTheGums) {
  // Readings without scatter: what is left is known to the last digit.
  std::vector<ReadingPair> pairs(8, {43.0, 44.8, std::nullopt});
  pairs[0] = {43.5, 45.3, std::nullopt};
  CalibrationSettings settings;
  settings.reference_resolution_k = 0.1;
  const auto result = calibrate(pairs, settings);
  ASSERT_TRUE(result);
  ASSERT_EQ(result->budget.size(), 4U);
  EXPECT_NEAR(result->budget[0].u_k, 0, 1e-9);
  // A rectangular distribution of full width w has w / sqrt(12) (JCGM 100:2008, 4.3.7).
  EXPECT_NEAR(result->budget[1].u_k, 0.5 / std::sqrt(12), 1e-9);
  EXPECT_NEAR(result->budget[2].u_k, 0.1 / std::sqrt(12), 1e-9);
  // The larger of 2 C and 2 % of 44.8 C is 2 C.
  EXPECT_NEAR(result->budget[3].u_k, 2 / std::sqrt(3), 1e-9);
  EXPECT_NEAR(result->expanded_k, 2 * std::sqrt(0.25 / 12 + 0.01 / 12 + 4.0 / 3), 1e-9);
  EXPECT_NEAR(result->correction_k, 1.8, 1e-9);
  EXPECT_TRUE(result->smaller_than_its_uncertainty());
}

TEST(Calibration, ofAHotReferenceThePercentCount) {
  EXPECT_DOUBLE_EQ((ReferenceAccuracy{2, 2}.at(90)), 2);
  EXPECT_DOUBLE_EQ((ReferenceAccuracy{2, 2}.at(150)), 3);
  EXPECT_DOUBLE_EQ((ReferenceAccuracy{0.3, 0}.at(150)), 0.3);
}

TEST(Calibration, emissivityIsTheStefanBoltzmannLaws) {
  // By the law itself: a body of 80 C and 0.95 in a room of 23 C, taken for one of 0.93 and 0.97.
  const auto apparent = [](double assumed) {
    const double radiated = 0.95 * std::pow(353.15, 4) + 0.05 * std::pow(296.15, 4);
    return std::pow((radiated - (1 - assumed) * std::pow(296.15, 4)) / assumed, 0.25);
  };
  const double half_width = (apparent(0.93) - apparent(0.97)) / 2;
  EXPECT_NEAR((Emissivity{0.95, 0.02, 23}.error_at(80)), half_width, 0.01);
  // A body as warm as its room looks right whatever it is.
  EXPECT_NEAR((Emissivity{0.95, 0.02, 23}.error_at(23)), 0, 1e-9);

  std::mt19937_64 random(1);
  CalibrationSettings settings;
  settings.emissivity = Emissivity{};
  const auto result = calibrate(SimulatedBoard{}.read(10, 80, 80, random), settings);
  ASSERT_EQ(result->budget.size(), 5U);
  EXPECT_EQ(result->budget[4].name, "emissivity");
  EXPECT_NEAR(result->budget[4].u_k, half_width / std::sqrt(3), 0.02);
}

TEST(Calibration, pairsWithTimesCountFromWhenItHadSettled) {
  std::vector<ReadingPair> pairs;
  for (int i = 0; i < 600; ++i) {
    const double t = i;
    const double truth = 70 - 40 * std::exp(-t / 30);
    // The reference lags by its own 60 s: while it warms up, the two differ by the lag.
    const double reference = 70 - 40 * (2 * std::exp(-t / 60) - std::exp(-t / 30));
    pairs.push_back({truth - 1.8 + 0.01 * (i % 3), reference, t});
  }
  const auto result = calibrate(pairs, {});
  ASSERT_TRUE(result);
  EXPECT_GT(result->unsettled, 100U);
  EXPECT_NEAR(result->correction_k, 1.8, 0.1);
}

TEST(Calibration, tooLittleIsSaid) {
  EXPECT_EQ(calibrate({}, {}).error().kind, ErrorKind::bad_file);
  std::vector<ReadingPair> moving;
  for (int i = 0; i < 50; ++i) moving.push_back({30.0 + i, 31.0 + i, static_cast<double>(i)});
  const auto result = calibrate(moving, {});
  ASSERT_FALSE(result);
  EXPECT_THAT(result.error().what, testing::HasSubstr("0 of them settled"));
}

TEST(Resolution, isTheLargestCommonStep) {
  EXPECT_DOUBLE_EQ(resolution_of({45.1, 45.3, 46.0}), 0.1);
  EXPECT_DOUBLE_EQ(resolution_of({45.0, 45.5, 47.0}), 0.5);
  EXPECT_DOUBLE_EQ(resolution_of({45.123, 45.124, 46.0}), 0.001);
  EXPECT_DOUBLE_EQ(resolution_of({45.1, 45.1}), 0);
}

}  // namespace
}  // namespace assay::probes
