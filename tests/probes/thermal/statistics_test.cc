// The statistics against published figures.
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "base/clock.h"
#include "probes/thermal/robust_statistics.h"
#include "probes/thermal/settling.h"

namespace assay::probes {
namespace {

// JCGM 100:2008 (GUM), H.3: the calibration of a thermometer, table H.6.
const std::vector<double> gum_readings = {21.521, 22.012, 22.512, 23.003, 23.507, 23.999,
                                          24.513, 25.002, 25.503, 26.010, 26.511};
const std::vector<double> gum_corrections = {-0.171, -0.169, -0.166, -0.159, -0.164, -0.165,
                                             -0.156, -0.157, -0.159, -0.161, -0.160};

TEST(LineFit, isTheGumsThermometer) {
  const auto line = fit_line(gum_readings, gum_corrections);
  ASSERT_TRUE(line);
  EXPECT_NEAR(line->at(20), -0.1712, 0.00005);
  EXPECT_NEAR(line->u_at(20), 0.0029, 0.00005);
  EXPECT_NEAR(line->slope, 0.00218, 0.000005);
  EXPECT_NEAR(line->u_slope, 0.00067, 0.000005);
  EXPECT_NEAR(line->scatter, 0.0035, 0.00005);
  // H.3.4: the correction at 30 C, outside of what was measured.
  EXPECT_NEAR(line->at(30), -0.1494, 0.00005);
  EXPECT_NEAR(line->u_at(30), 0.0041, 0.00005);
}

TEST(LineFit, isNistsNorris) {
  // NIST StRD, data set Norris (calibration of ozone monitors), y and x.
  const double data[][2] = {{0.1, 0.2},     {338.8, 337.4}, {118.1, 118.2}, {888.0, 884.6},
                            {9.2, 10.1},    {228.1, 226.5}, {668.5, 666.3}, {998.5, 996.3},
                            {449.1, 448.6}, {778.9, 777.0}, {559.2, 558.2}, {0.3, 0.4},
                            {0.1, 0.6},     {778.1, 775.5}, {668.8, 666.9}, {339.3, 338.0},
                            {448.9, 447.5}, {10.8, 11.6},   {557.7, 556.0}, {228.3, 228.1},
                            {998.0, 995.8}, {888.8, 887.6}, {119.6, 120.2}, {0.3, 0.3},
                            {0.6, 0.3},     {557.6, 556.8}, {339.3, 339.1}, {888.0, 887.2},
                            {998.5, 999.0}, {778.9, 779.0}, {10.2, 11.1},   {117.6, 118.3},
                            {228.9, 229.2}, {668.4, 669.1}, {449.2, 448.9}, {0.2, 0.5}};
  std::vector<double> x;
  std::vector<double> y;
  for (const auto& row : data) {
    y.push_back(row[0]);
    x.push_back(row[1]);
  }
  const auto line = fit_line(x, y);
  ASSERT_TRUE(line);
  EXPECT_NEAR(line->slope, 1.00211681802045, 1e-12);
  EXPECT_NEAR(line->u_slope, 0.429796848199937e-3, 1e-14);
  EXPECT_NEAR(line->at(0), -0.262323073774029, 1e-10);
  EXPECT_NEAR(line->u_at(0), 0.232818234301152, 1e-12);
  EXPECT_NEAR(line->scatter, 0.884796396144373, 1e-12);
}

TEST(LineFit, needsThreePointsThatDiffer) {
  EXPECT_FALSE(fit_line(std::vector<double>{1, 2}, std::vector<double>{1, 2}));
  EXPECT_FALSE(fit_line(std::vector<double>{2, 2, 2}, std::vector<double>{1, 2, 3}));
}

TEST(Hampel, findsWhatTheMeanAndItsDeviationHide) {
  // One wild value of ten pulls the mean to itself: by "3 standard deviations" it passes.
  const std::vector<double> values = {1.80, 1.82, 1.79, 1.81, 1.78, 1.83, 1.80, 1.79, 1.81, 9.0};
  EXPECT_DOUBLE_EQ(median(values), 1.805);
  const auto outlier = hampel_outliers(values, 0);
  for (std::size_t i = 0; i < values.size(); ++i) EXPECT_EQ(outlier[i], i == 9) << i;
}

TEST(Hampel, theScaledMadOfANormalDistributionIsItsDeviation) {
  std::mt19937_64 random(7);
  std::normal_distribution<double> normal(20, 0.5);
  std::vector<double> values;
  for (int i = 0; i < 100'000; ++i) values.push_back(normal(random));
  EXPECT_NEAR(scaled_mad(values), 0.5, 0.01);
}

TEST(Hampel, aStepOfTheResolutionIsNoOutlier) {
  const std::vector<double> values = {1.8, 1.8, 1.8, 1.8, 1.9, 1.8};
  EXPECT_TRUE(hampel_outliers(values, 0)[4]);
  EXPECT_FALSE(hampel_outliers(values, 0.2)[4]);
}

TEST(TheilSen, isNotTurnedByOutliers) {
  std::vector<double> x;
  std::vector<double> y;
  for (int i = 0; i < 20; ++i) {
    x.push_back(i);
    y.push_back(3 + 0.25 * i + (i % 5 == 0 ? 100 : 0));
  }
  EXPECT_NEAR(theil_sen_slope(x, y), 0.25, 0.1);
}

class Settling : public testing::Test {
 protected:
  // Feeds `seconds` of readings, ten a second.
  template <class Temperature>
  void feed(double seconds, Temperature temperature) {
    for (int i = 0; i < static_cast<int>(seconds * 10); ++i) {
      test_.add(now_ns_, temperature(static_cast<double>(now_ns_) / 1e9));
      now_ns_ += ns_per_s / 10;
    }
  }
  double noise() { return normal_(random_); }

  SettlingTest test_{0.2 / 60};
  std::int64_t now_ns_ = 0;
  std::mt19937_64 random_{3};
  std::normal_distribution<double> normal_{0, 0.05};
};

TEST_F(Settling, followsAFirstOrderStepUntilItsSlopeIsGone) {
  // 40 K with a time constant of 10 s: the slope is 4 exp(-t/10) K/s, under 0.2 K/min from 71 s on.
  const auto temperature = [this](double t) { return 80 - 40 * std::exp(-t / 10) + noise(); };
  feed(60, temperature);
  EXPECT_FALSE(test_.settled());
  feed(90, temperature);
  EXPECT_TRUE(test_.settled());
  EXPECT_NEAR(test_.mean_c(), 80, 0.1);
}

TEST_F(Settling, aSteadyRampNeverSettles) {
  for (int i = 0; i < 100; ++i) {
    feed(3, [this](double t) { return 30 + t / 60 + noise(); });  // 1 K/min
    EXPECT_FALSE(test_.settled());
  }
  EXPECT_NEAR(test_.slope_k_per_s(), 1.0 / 60, 3 * test_.u_slope_k_per_s());
}

TEST_F(Settling, noiseTakesLongerAndIsNoMovement) {
  feed(3, [this](double) { return 45 + noise(); });
  EXPECT_FALSE(test_.settled());
  feed(60, [this](double) { return 45 + noise(); });
  EXPECT_TRUE(test_.settled());
}

TEST_F(Settling, aCoarseSensorMustStayLonger) {
  feed(5, [](double) { return 45.0; });
  EXPECT_FALSE(test_.settled());
  feed(60, [](double) { return 45.0; });
  EXPECT_TRUE(test_.settled());
}

TEST_F(Settling, isOverWhenTheTemperatureMovesAgain) {
  feed(60, [this](double) { return 45 + noise(); });
  ASSERT_TRUE(test_.settled());
  feed(10, [this](double t) { return 45 + 0.3 * (t - 60) + noise(); });
  EXPECT_FALSE(test_.settled());
}

}  // namespace
}  // namespace assay::probes
