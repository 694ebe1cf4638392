// How often events come that were counted for a time: few or none in a short time prove little.
#pragma once

#include <cstdint>

namespace assay::probes {

// The expected count that `events` or fewer have a chance of 5 % at: with 95 % confidence it is no
// more (Garwood 1936, one-sided). 3.0 for none. `events` >= 0.
double poisson_upper_bound(std::int64_t events);

}  // namespace assay::probes
