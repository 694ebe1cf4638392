#include "runtime/kernels/matmul.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "runtime/kernels/matmul.cc"
#include "hwy/foreach_target.h"
// Behind foreach_target.h: once for each instruction set.
#include "runtime/kernels/matmul-inl.h"

#if HWY_ONCE
#include <functional>

namespace assay::runtime {

HWY_EXPORT(MultiplyRange);
HWY_EXPORT(UnpackRow);

void multiply(WorkerPool& pool, std::span<const MatmulJob> jobs) {
  std::size_t rows = 0;
  for (const MatmulJob& job : jobs) rows += job.matrix.rows;
  const auto work = [&](unsigned worker) {
    const Share share = share_of(rows, worker, pool.size(), 2);
    std::size_t start = 0;  // of the job, among the rows of all
    for (const MatmulJob& job : jobs) {
      const std::size_t end = start + job.matrix.rows;
      const std::size_t first = share.first > start ? share.first : start;
      const std::size_t last = share.last < end ? share.last : end;
      if (first < last) {
        HWY_DYNAMIC_DISPATCH(MultiplyRange)(job, first - start, last - start);
      }
      start = end;
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
