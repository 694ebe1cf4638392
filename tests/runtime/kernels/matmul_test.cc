#include "runtime/kernels/matmul.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <random>
#include <vector>

#include "runtime/model/number_formats.h"
#include "tests/runtime/reference.h"

namespace assay::runtime {
namespace {

constexpr TensorType all_types[] = {TensorType::f32, TensorType::f16, TensorType::fp8_e4m3,
                                    TensorType::int8, TensorType::int4};

// A matrix with memory of its own, which ends where its bytes end: reading on is found by ASan.
struct OwnedMatrix {
  std::vector<std::byte> codes;
  std::vector<std::byte> scales;
  Matrix matrix;
};

template <class T>
void write(std::vector<std::byte>& into, std::size_t index, T value) {
  std::memcpy(into.data() + index * sizeof(T), &value, sizeof(T));
}

OwnedMatrix random_matrix(TensorType type, std::size_t rows, std::size_t cols, std::mt19937& rng) {
  OwnedMatrix made;
  const TensorBytes bytes = tensor_bytes(type, rows, cols);
  made.codes.resize(bytes.codes);
  made.scales.resize(bytes.scales);
  std::uniform_real_distribution<float> scale(0.01F, 1.0F);
  std::uniform_int_distribution<unsigned> code(0, 0xFFFF);
  switch (type) {
    case TensorType::f32:
      for (std::size_t i = 0; i < rows * cols; ++i) write(made.codes, i, scale(rng) - 0.5F);
      break;
    case TensorType::f16:
      for (std::size_t i = 0; i < rows * cols; ++i) {
        // Up to 2 and down to the subnormal numbers.
        write(made.codes, i,
              static_cast<std::uint16_t>((code(rng) % 0x4000) | (code(rng) & 0x8000)));
      }
      break;
    default:
      for (std::byte& b : made.codes) {
        b = static_cast<std::byte>(code(rng));
        if (type == TensorType::fp8_e4m3 && (b & std::byte{0x7F}) == std::byte{0x7F}) b = {};
      }
  }
  for (std::size_t i = 0; type == TensorType::int4 && i < bytes.scales / 2; ++i) {
    write(made.scales, i, static_cast<std::uint16_t>(0x2000 + code(rng) % 0x1000));
  }
  for (std::size_t i = 0; type != TensorType::int4 && i < bytes.scales / 4; ++i) {
    write(made.scales, i, scale(rng));
  }
  made.matrix = {type, rows, cols, made.codes.data(), made.scales.data()};
  return made;
}

std::vector<float> random_vector(std::size_t count, std::mt19937& rng) {
  std::normal_distribution<float> normal;
  std::vector<float> x(count);
  for (float& v : x) v = normal(rng);
  return x;
}

// [batch][rows], each vector with memory of its own.
std::vector<std::vector<float>> product(WorkerPool& pool, const Matrix& m,
                                        const std::vector<std::vector<float>>& in) {
  std::vector<std::vector<float>> out(in.size(), std::vector<float>(m.rows));
  MatmulJob job;
  job.matrix = m;
  job.batch = in.size();
  for (std::size_t b = 0; b < in.size(); ++b) {
    job.in[b] = in[b].data();
    job.out[b] = out[b].data();
  }
  multiply(pool, {&job, 1});
  return out;
}

class Matmul : public testing::TestWithParam<TensorType> {};

TEST_P(Matmul, agreesWithFloat64) {
  std::mt19937 rng(1);
  WorkerPool pool(2);
  const std::vector<std::size_t> odd = {1, 7, 31, 32, 33, 65, 511, 513, 1100};
  const std::vector<std::size_t> groups = {32, 64, 96, 512, 544, 1120};
  for (const std::size_t cols : GetParam() == TensorType::int4 ? groups : odd) {
    const std::size_t rows = 1 + rng() % 9;
    const OwnedMatrix owned = random_matrix(GetParam(), rows, cols, rng);
    for (std::size_t batch = 1; batch <= max_batch; ++batch) {
      std::vector<std::vector<float>> in;
      for (std::size_t b = 0; b < batch; ++b) in.push_back(random_vector(cols, rng));
      const auto out = product(pool, owned.matrix, in);
      for (std::size_t b = 0; b < batch; ++b) {
        for (std::size_t r = 0; r < rows; ++r) {
          double sum = 0;
          double magnitudes = 0;
          for (std::size_t c = 0; c < cols; ++c) {
            const double term = reference::weight(owned.matrix, r, c) * double{in[b][c]};
            sum += term;
            magnitudes += std::abs(term);
          }
          // A partial sum has cols / 32 additions, then there are 5 more and the scale.
          const double bound =
              magnitudes * (static_cast<double>(cols) / 32.0 + 8.0) * 0x1p-24 + 1e-30;
          ASSERT_NEAR(out[b][r], sum, bound)
              << cols << " columns, vector " << b << " of " << batch << ", row " << r;
        }
      }
    }
  }
}

TEST_P(Matmul, isBitIdenticalAloneInABatchAndOnAnyNumberOfThreads) {
  std::mt19937 rng(2);
  const std::size_t cols = GetParam() == TensorType::int4 ? 1120 : 1101;
  const OwnedMatrix owned = random_matrix(GetParam(), 37, cols, rng);
  std::vector<std::vector<float>> in;
  for (std::size_t b = 0; b < max_batch; ++b) in.push_back(random_vector(cols, rng));
  WorkerPool alone(1);
  const auto all = product(alone, owned.matrix, in);
  for (const unsigned threads : {1U, 2U, 3U}) {
    WorkerPool pool(threads);
    for (std::size_t batch = 1; batch <= max_batch; ++batch) {
      const auto some = product(pool, owned.matrix, {in.begin(), in.begin() + batch});
      for (std::size_t b = 0; b < batch; ++b) ASSERT_EQ(some[b], all[b]) << batch;
    }
  }
}

TEST_P(Matmul, unpacksRows) {
  std::mt19937 rng(3);
  const std::size_t cols = GetParam() == TensorType::int4 ? 96 : 77;
  const OwnedMatrix owned = random_matrix(GetParam(), 3, cols, rng);
  for (std::size_t r = 0; r < 3; ++r) {
    std::vector<float> out(cols);
    unpack_row(owned.matrix, r, out.data());
    for (std::size_t c = 0; c < cols; ++c) {
      EXPECT_FLOAT_EQ(out[c], static_cast<float>(reference::weight(owned.matrix, r, c)));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Types, Matmul, testing::ValuesIn(all_types),
                         [](const auto& type) { return std::string(name_of(type.param)); });

TEST(Matmul, severalJobsAtOnce) {
  std::mt19937 rng(4);
  WorkerPool pool(3);
  const OwnedMatrix a = random_matrix(TensorType::f16, 5, 40, rng);
  const OwnedMatrix b = random_matrix(TensorType::int8, 11, 40, rng);
  const auto x = random_vector(40, rng);
  std::vector<float> out_a(5), out_b(11);
  MatmulJob jobs[2];
  jobs[0] = {.matrix = a.matrix, .batch = 1, .in = {x.data()}, .out = {out_a.data()}};
  jobs[1] = {.matrix = b.matrix, .batch = 1, .in = {x.data()}, .out = {out_b.data()}};
  multiply(pool, jobs);
  EXPECT_EQ(out_a, product(pool, a.matrix, {x})[0]);
  EXPECT_EQ(out_b, product(pool, b.matrix, {x})[0]);
}

// Each code as a matrix of one weight, times 1.
TEST(Fp8, everyCodeInTheKernelAndAlone) {
  WorkerPool pool(1);
  for (unsigned code = 0; code < 256; ++code) {
    const double expected = reference::fp8_e4m3(static_cast<std::uint8_t>(code));
    const float alone = fp8_e4m3_to_float(static_cast<std::uint8_t>(code));
    if (std::isnan(expected)) {
      EXPECT_TRUE(std::isnan(alone));
      continue;
    }
    EXPECT_EQ(double{alone}, expected) << code;
    const std::byte byte{static_cast<unsigned char>(code)};
    const float scale = 1.0F;
    const Matrix m{TensorType::fp8_e4m3, 1, 1, &byte, reinterpret_cast<const std::byte*>(&scale)};
    EXPECT_EQ(double{product(pool, m, {{1.0F}})[0][0]}, expected) << code;
  }
}

TEST(Half, everyFiniteCode) {
  for (unsigned code = 0; code < 0x10000; ++code) {
    if ((code & 0x7C00) == 0x7C00) continue;
    const auto half = static_cast<std::uint16_t>(code);
    ASSERT_EQ(double{half_to_float(half)}, reference::half(half)) << code;
    if (code >= 0x0400 && code < 0x7C00) {
      ASSERT_EQ(half_from_positive(half_to_float(half)), half);
    }
  }
}

}  // namespace
}  // namespace assay::runtime
