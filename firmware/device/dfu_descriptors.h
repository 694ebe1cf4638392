// What a DFU device says about itself (DFU 1.1, section 4; USB 2.0, section 9.6): device,
// configuration with the one DFU interface, and strings. Freestanding.
#pragma once

#include <cstdint>

#include "firmware/device/dfu_protocol.h"

namespace assay::firmware::device {

// Strings are zero-terminated, ASCII, and outlive the device; what goes beyond 126 characters is
// not sent.
struct DfuIdentity {
  std::uint16_t vendor;
  std::uint16_t runtime_product;
  std::uint16_t dfu_product;  // may be the same
  std::uint16_t release;      // bcdDevice
  const char* manufacturer;
  const char* product;
  const char* serial;
  std::uint8_t attributes;  // of the functional descriptor
  std::uint16_t detach_timeout_ms;
  std::uint16_t transfer_bytes;  // bMaxPacketSize0 (64) .. DfuDevice::most_transfer_bytes
};

inline constexpr std::uint16_t device_descriptor_bytes = 18;
inline constexpr std::uint16_t configuration_descriptor_bytes = 9 + 9 + dfu_functional_bytes;
inline constexpr std::uint16_t most_descriptor_bytes = 254;

enum class DfuString : std::uint8_t {
  languages = 0,
  manufacturer = 1,
  product = 2,
  serial = 3,
  interface = 4,
  reason = 5,  // why the last update was refused
};

void write_device_descriptor(const DfuIdentity& identity, bool dfu_mode,
                             std::uint8_t out[device_descriptor_bytes]);
void write_configuration_descriptor(const DfuIdentity& identity, bool dfu_mode,
                                    std::uint8_t out[configuration_descriptor_bytes]);
// UTF-16 of `text`; how many bytes.
std::uint16_t write_string_descriptor(const char* text, std::uint8_t out[most_descriptor_bytes]);
// String 0: the languages, of which there is US English.
std::uint16_t write_language_descriptor(std::uint8_t out[most_descriptor_bytes]);

}  // namespace assay::firmware::device
