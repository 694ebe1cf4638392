// firmware.dfu: brings an image to the board over USB DFU 1.1.
#pragma once

#include "probes/framework/context.h"

namespace assay::probes {

Probe firmware_dfu_probe();

}  // namespace assay::probes
