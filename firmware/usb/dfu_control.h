// Requests to a DFU interface, whoever carries them: libusb, or a device in the same process.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "firmware/device/dfu_protocol.h"

namespace assay::firmware {

using device::DfuRequest;
using device::DfuState;
using device::DfuStatus;

// One thread at a time. Errors, `where` being name():
//   protocol     the device refused the request: a stall
//   vanished     the device is gone
//   timeout, io  the bus failed
class DfuControl {
 public:
  DfuControl() = default;
  DfuControl(const DfuControl&) = delete;
  DfuControl& operator=(const DfuControl&) = delete;
  virtual ~DfuControl() = default;

  // What the device sent, at most `length` bytes.
  virtual Result<std::vector<std::uint8_t>> control_in(DfuRequest request, std::uint16_t value,
                                                       std::uint16_t length) = 0;
  virtual Result<> control_out(DfuRequest request, std::uint16_t value,
                               std::span<const std::uint8_t> data) = 0;
  // A string descriptor, printable.
  virtual Result<std::string> string(std::uint8_t index) = 0;
  // A reset of the bus. The device may be another one behind it, or gone, which is no error.
  virtual Result<> reset() = 0;
  // Lets time pass, as the device counts it.
  virtual void wait(std::int64_t ns) = 0;
  // For error messages: "1209:a55a at 1-2".
  virtual const std::string& name() const = 0;
};

}  // namespace assay::firmware
