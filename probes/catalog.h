// All probes by name. A new one is one folder under probes/ and one line in catalog.cc.
#pragma once

#include <span>
#include <string_view>

#include "probes/framework/context.h"

namespace assay::probes {

std::span<const Probe> catalog();
const Probe* find_probe(std::string_view name);

}  // namespace assay::probes
