// Matrix times vectors, straight from the packed weights.
//
// out[b][r] = sum over c of weight(r, c) * in[b][c], in F32. A row's sum is kept as 32 partial
// sums, column c in number c mod 32, each in the order of columns, and these are added by halves
// (16, 8, 4, 2, 1). A row is computed by one thread. So a result depends neither on the number of
// threads nor on the other vectors of a batch; with fused multiply-add nor on the width of the
// machine's vectors.
#pragma once

#include <array>
#include <cstddef>
#include <span>

#include "base/worker_pool.h"
#include "runtime/kernels/matrix.h"

namespace assay::runtime {

// Vectors that share one reading of the weights.
inline constexpr std::size_t max_batch = 8;

struct MatmulJob {
  Matrix matrix;
  std::size_t batch = 0;                     // 1..max_batch
  std::array<const float*, max_batch> in{};  // each [matrix.cols]
  std::array<float*, max_batch> out{};       // each [matrix.rows]; overlaps no input
};

// All jobs, their rows divided over the pool. Fp8 codes that are NaN count as 480.
void multiply(WorkerPool& pool, std::span<const MatmulJob> jobs);

// Row `row` as F32, out[matrix.cols].
void unpack_row(const Matrix& matrix, std::size_t row, float* out);

}  // namespace assay::runtime
