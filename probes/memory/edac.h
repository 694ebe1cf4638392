// What the memory controller itself has seen (EDAC, kernel documentation driver-api/edac): errors
// that ECC corrected, and those that it could not.
#pragma once

#include <cstdint>
#include <optional>

#include "base/machine.h"

namespace assay::probes {

struct EdacCounts {
  std::uint64_t corrected = 0;
  std::uint64_t uncorrected = 0;
};

// The sum over all controllers since the machine started; none when there is no controller with a
// driver, which is not the same as no errors.
std::optional<EdacCounts> read_edac(const Machine& machine);

}  // namespace assay::probes
