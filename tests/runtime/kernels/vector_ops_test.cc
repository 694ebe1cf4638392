#include "runtime/kernels/vector_ops.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

#include "runtime/kernels/attention.h"

namespace assay::runtime {
namespace {

std::vector<float> normal(std::size_t count, unsigned seed, float deviation = 1.0F) {
  std::mt19937 rng(seed);
  std::normal_distribution<float> distribution(0.0F, deviation);
  std::vector<float> x(count);
  for (float& v : x) v = distribution(rng);
  return x;
}

const std::size_t counts[] = {1, 2, 15, 16, 31, 33, 64, 257};

TEST(VectorOps, rmsNorm) {
  for (const std::size_t n : counts) {
    const auto x = normal(n, 1);
    const auto gain = normal(n, 2);
    std::vector<float> out(n);
    rms_norm(x.data(), gain.data(), n, 1e-5F, out.data());
    double squares = 0;
    for (const float v : x) squares += double{v} * v;
    const double root = std::sqrt(squares / static_cast<double>(n) + 1e-5);
    for (std::size_t i = 0; i < n; ++i) ASSERT_NEAR(out[i], x[i] / root * gain[i], 2e-6);
  }
}

TEST(VectorOps, swigluAlsoFarFromZero) {
  for (const std::size_t n : counts) {
    auto gate = normal(n, 3, 60.0F);
    const auto before = gate;
    const auto up = normal(n, 4);
    swiglu(gate.data(), up.data(), n);
    for (std::size_t i = 0; i < n; ++i) {
      const double g = before[i];
      const double expected = g / (1.0 + std::exp(-g)) * up[i];
      ASSERT_NEAR(gate[i], expected, 1e-6 * std::abs(expected) + 1e-30) << g;
    }
  }
}

TEST(VectorOps, softmaxAddsUpToOne) {
  for (const std::size_t n : counts) {
    auto x = normal(n, 5, 20.0F);
    for (float& v : x) v += 1000.0F;
    const auto before = x;
    softmax(x.data(), n);
    double below = 0;
    for (const float v : before) below += std::exp(double{v} - before[0]);
    double sum = 0;
    for (std::size_t i = 0; i < n; ++i) {
      ASSERT_NEAR(x[i], std::exp(double{before[i]} - before[0]) / below, 1e-6);
      sum += x[i];
    }
    EXPECT_NEAR(sum, 1.0, 1e-6);
  }
}

TEST(VectorOps, ropeTurnsPairsByTheirAngles) {
  constexpr std::size_t dim = 10;
  const auto x = normal(2 * dim, 6);
  auto turned = x;
  std::vector<float> sine(dim / 2), cosine(dim / 2);
  rope_angles(12'345, 10'000.0F, dim, sine.data(), cosine.data());
  rope(turned.data(), 2, dim, sine.data(), cosine.data());
  for (std::size_t head = 0; head < 2; ++head) {
    for (std::size_t i = 0; i < dim / 2; ++i) {
      const double angle = 12'345.0 * std::pow(10'000.0, -2.0 * static_cast<double>(i) / dim);
      const std::size_t a = head * dim + i;
      const std::size_t b = a + dim / 2;
      EXPECT_NEAR(turned[a], x[a] * std::cos(angle) - x[b] * std::sin(angle), 1e-6);
      EXPECT_NEAR(turned[b], x[a] * std::sin(angle) + x[b] * std::cos(angle), 1e-6);
    }
  }
}

TEST(Attention, agreesWithFloat64) {
  for (const std::size_t dim : {2U, 32U, 70U, 128U}) {
    for (const std::size_t positions : {1U, 3U, 40U, 333U}) {
      const auto query = normal(dim, 7);
      const auto keys = normal(dim * positions, 8);
      const auto values = normal(dim * positions, 9);
      std::vector<float> scores(positions), out(dim);
      attend({query.data(), keys.data(), values.data(), positions, dim}, scores.data(), out.data());
      std::vector<double> expected(dim);
      double sum = 0;
      for (std::size_t p = 0; p < positions; ++p) {
        double dot = 0;
        for (std::size_t i = 0; i < dim; ++i) dot += double{query[i]} * keys[p * dim + i];
        const double weight = std::exp(dot / std::sqrt(static_cast<double>(dim)));
        sum += weight;
        for (std::size_t i = 0; i < dim; ++i) expected[i] += weight * values[p * dim + i];
      }
      for (std::size_t i = 0; i < dim; ++i) ASSERT_NEAR(out[i], expected[i] / sum, 5e-6);
    }
  }
}

}  // namespace
}  // namespace assay::runtime
