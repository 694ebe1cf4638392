// The board's temperature limit with the sensor's uncertainty as its guard band (JCGM 106:2012,
// 8.3.2, guarded acceptance): what reads up to the limit less the expanded uncertainty is surely
// within; above it, it is not shown to be.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "probes/framework/board_profile.h"
#include "reports/record/limits.h"

namespace assay::probes {

inline double celsius(std::int64_t mc) {
  return static_cast<double>(mc) / 1000;
}

// The largest reading that is within the limit.
inline std::int64_t acceptance_mc(const ThermalProfile& thermal) {
  return thermal.limit_mc - thermal.uncertainty_mc;
}

// For a zone of the machine; empty for one that is not the board's.
std::vector<reports::Validator> temperature_limits(const BoardProfile& board,
                                                   const std::string& zone);

// "the limit is 85.0 C", and where there is an uncertainty what it makes of this reading: surely
// over, or too near to tell.
std::string limit_sentence(const ThermalProfile& thermal, std::int64_t mc);

}  // namespace assay::probes
