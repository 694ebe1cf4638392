// libusb's errors in words, with what to do. For the sources of this folder alone.
#pragma once

#include <string>

#include "base/result.h"
#include "firmware/usb/usb_list.h"

namespace assay::firmware {

// `code` is one of libusb's, `doing` what was tried ("read the status"). Kinds: protocol for a
// stall, vanished when the device is gone, timeout, unavailable for permission and use by others,
// exhausted for memory; io for the rest.
std::unexpected<Error> usb_failure(int code, const std::string& doing, const std::string& name);

// The device could not be opened. Without permission: the udev rule that gives it.
std::unexpected<Error> usb_open_failure(int code, const UsbDevice& device);

// The interface could not be claimed. In use: by which driver.
std::unexpected<Error> usb_claim_failure(int code, const UsbDevice& device, int configuration,
                                         int interface);

}  // namespace assay::firmware
