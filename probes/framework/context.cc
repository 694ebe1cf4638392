#include "probes/framework/context.h"

namespace assay::probes {

std::vector<reports::Validator> MonitorContext::limits_for(const std::string& measurement) const {
  std::vector<reports::Validator> found;
  for (const reports::Limit& limit : limits) {
    if (limit.measurement == measurement) {
      found.insert(found.end(), limit.validators.begin(), limit.validators.end());
    }
  }
  return found;
}

}  // namespace assay::probes
