#include "runtime/kernels/matmul.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "runtime/kernels/matmul.cc"
#include <hwy/foreach_target.h>
// Behind foreach_target.h: once for each instruction set.
#include "runtime/kernels/matmul-inl.h"

#if HWY_ONCE
#include <algorithm>
#include <atomic>
#include <functional>

namespace assay::runtime {

HWY_EXPORT(MultiplyRange);
HWY_EXPORT(UnpackRow);

namespace {

// Rows that a worker takes at a time: enough turns that one who is held up by another process
// leaves the rest to the others, and whole blocks of the kernels.
std::size_t rows_at_a_time(std::size_t rows, unsigned workers) {
  constexpr std::size_t turns = 8;
  constexpr std::size_t block = 16;
  return (rows / (workers * turns) / block + 1) * block;
}

// Rows [first, last) of all jobs, counted through.
void multiply_share(std::span<const MatmulJob> jobs, std::size_t first, std::size_t last) {
  std::size_t start = 0;
  for (const MatmulJob& job : jobs) {
    const std::size_t end = start + job.matrix.rows;
    const std::size_t from = std::max(first, start);
    const std::size_t to = std::min(last, end);
    if (from < to) HWY_DYNAMIC_DISPATCH(MultiplyRange)(job, from - start, to - start);
    start = end;
  }
}

}  // namespace

void multiply(WorkerPool& pool, std::span<const MatmulJob> jobs) {
  std::size_t rows = 0;
  for (const MatmulJob& job : jobs) rows += job.matrix.rows;
  const std::size_t grain = rows_at_a_time(rows, pool.size());
  std::atomic<std::size_t> next{0};
  const auto work = [&](unsigned) {
    for (;;) {
      const std::size_t first = next.fetch_add(grain, std::memory_order_relaxed);
      if (first >= rows) return;
      multiply_share(jobs, first, std::min(first + grain, rows));
    }
  };
  // A reference fits into std::function without taking memory.
  pool.run(std::ref(work));
}

void unpack_row(const Matrix& matrix, std::size_t row, float* out) {
  HWY_DYNAMIC_DISPATCH(UnpackRow)(matrix, row, out);
}

}  // namespace assay::runtime
#endif
