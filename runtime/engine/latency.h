// Percentiles of latencies.
#pragma once

#include <cstdint>
#include <span>

namespace assay::runtime {

// The nearest-rank percentile (Hyndman and Fan 1996, definition 1): the smallest value such that
// `percent` of all are not larger. `percent` in (0, 100]; 0 when there are no values. Takes a copy.
std::int64_t percentile(std::span<const std::int64_t> values, double percent);

}  // namespace assay::runtime
