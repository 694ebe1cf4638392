// memory.fragmentation: how large a physically contiguous block the kernel can still give. A step
// and a monitor.
#pragma once

#include "probes/framework/context.h"

namespace assay::probes {

Probe fragmentation_probe();

}  // namespace assay::probes
