// What a tensor's weights are like, to see a damaged or badly quantized file before it computes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/cancel.h"
#include "base/result.h"
#include "base/worker_pool.h"
#include "runtime/gguf/gguf_type.h"

namespace assay::runtime {

struct WeightStatistics {
  std::uint64_t count = 0;
  std::uint64_t not_finite = 0;  // NaN or infinite; in no figure below
  std::uint64_t zeros = 0;
  double rms = 0;  // root mean square; 0 without a finite weight
  float least = 0;
  float most = 0;
};

// Of all weights in `blocks`, which are whole blocks of `type`. The same whatever the threads.
// ErrorKind::cancelled.
Result<WeightStatistics> weight_statistics(GgufType type, std::span<const std::byte> blocks,
                                           WorkerPool& pool, const CancelToken& cancel);

}  // namespace assay::runtime
