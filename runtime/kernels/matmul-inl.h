// The kernels of matmul.cc for one instruction set. No include guard: it is compiled once for each.
#include "runtime/kernels/matmul.h"
#include "runtime/kernels/unpack-inl.h"

HWY_BEFORE_NAMESPACE();
namespace assay::runtime {
namespace HWY_NAMESPACE {

// Columns [first, last) of `rows` rows times `batch` vectors, a multiple of `step` columns. The
// vectors start at column `first`. sums: [rows][batch][step], added to.
template <TensorType type, std::size_t rows, std::size_t batch>
HWY_INLINE void accumulate(const RowPlanes (&row)[rows], std::size_t first, std::size_t last,
                           const float* const (&in)[batch], float* HWY_RESTRICT sums) {
  V acc[rows][batch][parts];
  for (std::size_t r = 0; r < rows; ++r) {
    for (std::size_t b = 0; b < batch; ++b) {
      for (std::size_t p = 0; p < parts; ++p) {
        acc[r][b][p] = hn::LoadU(F32(), sums + (r * batch + b) * step + p * lanes);
      }
    }
  }
  for (std::size_t col = first; col < last; col += step) {
    V w[rows][parts];
    for (std::size_t r = 0; r < rows; ++r) Format<type>::load(row[r], col, w[r]);
    for (std::size_t b = 0; b < batch; ++b) {
      for (std::size_t p = 0; p < parts; ++p) {
        const V x = hn::LoadU(F32(), in[b] + (col - first) + p * lanes);
        for (std::size_t r = 0; r < rows; ++r) {
          acc[r][b][p] = hn::MulAdd(w[r][p], x, acc[r][b][p]);
        }
      }
    }
  }
  for (std::size_t r = 0; r < rows; ++r) {
    for (std::size_t b = 0; b < batch; ++b) {
      for (std::size_t p = 0; p < parts; ++p) {
        hn::StoreU(acc[r][b][p], F32(), sums + (r * batch + b) * step + p * lanes);
      }
    }
  }
}

float sum_of(float* sums) {
  for (std::size_t half = step / 2; half != 0; half /= 2) {
    for (std::size_t i = 0; i < half; ++i) sums[i] += sums[i + half];
  }
  return sums[0];
}

// Vectors that go through a tile of unpacked weights at a time: as many as leave the partial sums
// in registers.
constexpr std::size_t tile_batch = lanes >= 16 ? 4 : 1;
constexpr std::size_t tile_cols = 512;
// Rows that take their turns with one tile of the vectors, which stays in the first-level cache.
constexpr std::size_t block_rows = 16;
constexpr std::size_t row_sums = max_batch * step;

// The rest of a batch, from vector `b` on, `group` vectors at a time where as many are left.
template <std::size_t rows, std::size_t group>
HWY_INLINE std::size_t through_tile(const RowPlanes (&tile)[rows], std::size_t cols,
                                    const float* const* in, std::size_t b, std::size_t batch,
                                    float* sums) {
  for (; b + group <= batch; b += group) {
    const float* vectors[group];
    for (std::size_t i = 0; i < group; ++i) vectors[i] = in[b + i];
    float* into = sums + b * rows * step;
    accumulate<TensorType::f32, rows, group>(tile, 0, cols, vectors, into);
  }
  return b;
}

// Columns [first, first + count) of `rows` rows, unpacked once, times a batch of vectors that start
// at column `first`. `count` is at most tile_cols and a multiple of `step`, or fewer than `step`:
// the vectors then have zeros behind. sums: [rows * row_sums], added to: vectors in groups of
// tile_batch, then single ones, and in a group [rows][vectors][step].
template <TensorType type, std::size_t rows>
HWY_INLINE void unpack_and_multiply(const Matrix& matrix, std::size_t first_row, std::size_t first,
                                    std::size_t count, const float* const* in, std::size_t batch,
                                    float* sums) {
  alignas(64) float tile[rows][tile_cols];
  RowPlanes tile_rows[rows];
  for (std::size_t r = 0; r < rows; ++r) {
    const RowPlanes row = row_planes(matrix, first_row + r);
    tile_rows[r] = {reinterpret_cast<const std::uint8_t*>(tile[r]), nullptr};
    for (std::size_t col = 0; col + step <= count; col += step) {
      V w[parts];
      Format<type>::load(row, first + col, w);
      for (std::size_t p = 0; p < parts; ++p) {
        hn::StoreU(w[p], F32(), tile[r] + col + p * lanes);
      }
    }
    if constexpr (type != TensorType::int4) {
      if (count < step) load_tail<type>(row, first, count, tile[r]);
    }
  }
  const std::size_t padded = (count + step - 1) / step * step;
  const std::size_t grouped = through_tile<rows, tile_batch>(tile_rows, padded, in, 0, batch, sums);
  through_tile<rows, 1>(tile_rows, padded, in, grouped, batch, sums);
}

template <TensorType type, std::size_t rows>
HWY_INLINE void store_results(const MatmulJob& job, std::size_t first_row, float* sums) {
  const std::size_t grouped = job.batch / tile_batch * tile_batch;
  for (std::size_t b = 0; b < job.batch; ++b) {
    const std::size_t group = b < grouped ? tile_batch : 1;
    const std::size_t base = b / group * group;
    for (std::size_t r = 0; r < rows; ++r) {
      float* partial = sums + (base * rows + r * group + (b - base)) * step;
      const RowPlanes row = row_planes(job.matrix, first_row + r);
      job.out[b][first_row + r] = sum_of(partial) * Format<type>::row_factor(row);
    }
  }
}

// The columns behind the last whole step of each vector, zeros behind them.
struct Ends {
  alignas(64) float numbers[max_batch][step] = {};
  const float* in[max_batch] = {};
  Ends(const MatmulJob& job, std::size_t whole) {
    for (std::size_t b = 0; b < job.batch; ++b) {
      std::memcpy(numbers[b], job.in[b] + whole, (job.matrix.cols - whole) * sizeof(float));
      in[b] = numbers[b];
    }
  }
};

// Rows times a single vector: nothing is unpacked to memory.
template <TensorType type, std::size_t rows>
HWY_NOINLINE void multiply_single(const MatmulJob& job, std::size_t first_row, const Ends& ends) {
  const std::size_t cols = job.matrix.cols;
  const std::size_t whole = cols / step * step;
  RowPlanes row[rows];
  for (std::size_t r = 0; r < rows; ++r) row[r] = row_planes(job.matrix, first_row + r);
  alignas(64) float sums[rows * step] = {};
  accumulate<type, rows, 1>(row, 0, whole, {job.in[0]}, sums);
  if (whole < cols) {
    unpack_and_multiply<type, rows>(job.matrix, first_row, whole, cols - whole, ends.in, 1, sums);
  }
  store_results<type, rows>(job, first_row, sums);
}

// At most block_rows rows times a batch of vectors.
template <TensorType type>
HWY_NOINLINE void multiply_block(const MatmulJob& job, std::size_t first_row, std::size_t last_row,
                                 const Ends& ends) {
  const std::size_t cols = job.matrix.cols;
  const std::size_t whole = cols / step * step;
  alignas(64) float sums[block_rows * row_sums] = {};
  const auto each_row = [&](auto&& pair, auto&& single) HWY_ATTR {
    std::size_t row = first_row;
    for (; row + 2 <= last_row; row += 2) pair(row, sums + (row - first_row) * row_sums);
    if (row < last_row) single(row, sums + (row - first_row) * row_sums);
  };
  const auto multiply_columns = [&](std::size_t first, std::size_t count,
                                    const float* const* in) HWY_ATTR {
    each_row(
        [&](std::size_t row, float* into) HWY_ATTR {
          unpack_and_multiply<type, 2>(job.matrix, row, first, count, in, job.batch, into);
        },
        [&](std::size_t row, float* into) HWY_ATTR {
          unpack_and_multiply<type, 1>(job.matrix, row, first, count, in, job.batch, into);
        });
  };
  for (std::size_t first = 0; first < whole; first += tile_cols) {
    const float* in[max_batch];
    for (std::size_t b = 0; b < job.batch; ++b) in[b] = job.in[b] + first;
    multiply_columns(first, whole - first < tile_cols ? whole - first : tile_cols, in);
  }
  if (whole < cols) multiply_columns(whole, cols - whole, ends.in);
  each_row([&](std::size_t row, float* from) { store_results<type, 2>(job, row, from); },
           [&](std::size_t row, float* from) { store_results<type, 1>(job, row, from); });
}

template <TensorType type>
void multiply_range(const MatmulJob& job, std::size_t first, std::size_t last) {
  const Ends ends(job, job.matrix.cols / step * step);
  if (job.batch == 1) {
    std::size_t row = first;
    // Several streams through memory at once keep more of its banks busy.
    for (; row + 4 <= last; row += 4) multiply_single<type, 4>(job, row, ends);
    for (; row < last; ++row) multiply_single<type, 1>(job, row, ends);
    return;
  }
  for (std::size_t row = first; row < last; row += block_rows) {
    multiply_block<type>(job, row, last - row < block_rows ? last : row + block_rows, ends);
  }
}

void MultiplyRange(const MatmulJob& job, std::size_t first, std::size_t last) {
  switch (job.matrix.type) {
    case TensorType::f32:
      return multiply_range<TensorType::f32>(job, first, last);
    case TensorType::f16:
      return multiply_range<TensorType::f16>(job, first, last);
    case TensorType::fp8_e4m3:
      return multiply_range<TensorType::fp8_e4m3>(job, first, last);
    case TensorType::int8:
      return multiply_range<TensorType::int8>(job, first, last);
    case TensorType::int4:
      return multiply_range<TensorType::int4>(job, first, last);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace assay::runtime
HWY_AFTER_NAMESPACE();
