// firmware.flash: brings the board's firmware to an image's version, over its UART.
#pragma once

#include "probes/framework/context.h"

namespace assay::probes {

Probe firmware_flash_probe();

}  // namespace assay::probes
