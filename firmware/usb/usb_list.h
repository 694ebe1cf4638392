// The USB devices of this machine.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"

namespace assay::firmware {

// What a device is good for, by its interfaces' classes; a guess.
enum class UsbRole {
  other,
  hub,
  serial,       // CDC ACM, or a well-known adapter chip
  dfu_runtime,  // runs its firmware and can be asked into DFU mode
  dfu,          // in DFU mode
};
std::string to_text(UsbRole role);

struct UsbDevice {
  std::uint16_t vendor = 0;
  std::uint16_t product = 0;
  std::uint16_t release = 0;  // bcdDevice
  std::string serial;         // printable; may be empty
  std::string description;    // the product's name; printable; may be empty
  UsbRole role = UsbRole::other;
  std::string port;  // where it is plugged in, as the kernel names it: "1-2.3"; a root hub "usb1"
  std::uint8_t bus = 0;
  std::uint8_t address = 0;  // another one each time that it is plugged in

  std::string id() const;    // "1209:a551"
  std::string name() const;  // "1209:a551 at 1-2.3"
  std::string node() const;  // "/dev/bus/usb/001/004"
};

// By port. Needs no permission: what the kernel knows is enough.
// ErrorKind::unavailable when the machine has no USB.
Result<std::vector<UsbDevice>> list_usb_devices();

}  // namespace assay::firmware
