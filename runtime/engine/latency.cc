#include "runtime/engine/latency.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

namespace assay::runtime {

std::int64_t percentile(std::span<const std::int64_t> values, double percent) {
  if (values.empty()) return 0;
  std::vector<std::int64_t> sorted(values.begin(), values.end());
  const double rank = std::ceil(percent / 100.0 * static_cast<double>(sorted.size()));
  const auto index =
      static_cast<std::ptrdiff_t>(std::clamp(rank, 1.0, static_cast<double>(sorted.size()))) - 1;
  std::nth_element(sorted.begin(), sorted.begin() + index, sorted.end());
  return sorted[static_cast<std::size_t>(index)];
}

}  // namespace assay::runtime
