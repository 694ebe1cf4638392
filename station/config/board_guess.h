// Which board a USB device may be, by the profiles.
#pragma once

#include <string>

#include "station/config/library.h"

namespace assay::station {

// Ids of the boards whose profile names the USB id ("1a86:7523") as their UART's adapter or for
// DFU, with ", " between; empty when none does.
std::string boards_with_usb_id(const Library& library, const std::string& usb_id);

}  // namespace assay::station
