// Configuration space of a virtual board's PCI functions, as bytes.
#pragma once

#include <string>

#include "station/virtual/virtual_spec.h"

namespace assay::station {

// 256 bytes: header, power management and PCI Express capability.
std::string encode_config_space(const VirtualPciFunction& function);

}  // namespace assay::station
