// What a DFU device says, in words.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"
#include "firmware/usb/dfu_control.h"

namespace assay::firmware {

// The specification's name: "dfuIDLE", "errTARGET".
std::string_view name_of(DfuState state);
std::string_view name_of(DfuStatus status);

// The error for `status`. `doing` is what was going on ("writing byte 4096"), `reason` the device's
// own words, which may be empty. Kinds:
//   bad_file     target, file, address: the image is not for this device
//   unavailable  vendor, when an image that is on trial is in the way
//   io           write, erase, check_erased, program, verify: its memory failed
//   protocol     the others
std::unexpected<Error> status_failure(DfuStatus status, const std::string& doing,
                                      const std::string& reason, const std::string& name);

}  // namespace assay::firmware
