// A DFU interface of a real device, over libusb.
#pragma once

#include <memory>

#include "base/result.h"
#include "firmware/usb/dfu_client.h"
#include "firmware/usb/dfu_control.h"
#include "firmware/usb/usb_list.h"

namespace assay::firmware {

struct OpenDfu {
  std::unique_ptr<DfuControl> control;
  DfuFunctional functional;
};

// Opens the device and claims its DFU interface; in DFU mode with alternate setting
// `alternate`. Errors, `where` being device.name():
//   unavailable  no permission, or a driver or another program holds it: the hint says which
//   usage        it has no DFU interface, or no such setting
//   protocol     see find_dfu_functional()
//   vanished     it is not there any more
Result<OpenDfu> open_dfu(const UsbDevice& device, int alternate = 0);

}  // namespace assay::firmware
