#include "probes/thermal/thermal_limits.h"

#include <fmt/core.h>

namespace assay::probes {

std::vector<reports::Validator> temperature_limits(const BoardProfile& board,
                                                   const std::string& zone) {
  if (!board.thermal || board.thermal->zone != zone) return {};
  return {reports::make_validator(reports::Comparison::less_or_equal,
                                  celsius(acceptance_mc(*board.thermal)), "Cel")};
}

std::string limit_sentence(const ThermalProfile& thermal, std::int64_t mc) {
  const std::string limit = fmt::format("the limit is {:.1f} C", celsius(thermal.limit_mc));
  if (thermal.uncertainty_mc == 0) return limit;
  const std::string uncertainty =
      fmt::format("the reading is uncertain by {:.1f} C (k = 2)", celsius(thermal.uncertainty_mc));
  if (mc > thermal.limit_mc + thermal.uncertainty_mc) {
    return limit + " and " + uncertainty + ": surely over it";
  }
  return limit + " and " + uncertainty + ": not shown to be within it";
}

}  // namespace assay::probes
