// A PCI function as the report has it.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "probes/pcie/config_space.h"

namespace assay::probes {

nlohmann::json to_json(const PciFunction& function);

}  // namespace assay::probes
