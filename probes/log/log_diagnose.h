// log.diagnose: the kernel's log of the board since its start, read for known messages.
#pragma once

#include "probes/framework/context.h"

namespace assay::probes {

Probe log_diagnose_probe();

}  // namespace assay::probes
