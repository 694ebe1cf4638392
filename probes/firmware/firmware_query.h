// firmware.query: asks the board for its firmware version over the UART.
#pragma once

#include "probes/framework/context.h"

namespace assay::probes {

Probe firmware_query_probe();

}  // namespace assay::probes
