// USB DFU 1.1 (Universal Serial Bus Device Class Specification for Device Firmware Upgrade, version
// 1.1, 2004): numbers that both ends know. Freestanding; the host's client uses it too.
#pragma once

#include <cstdint>

namespace assay::firmware::device {

// Section 3. Class requests to the DFU interface (wIndex).
enum class DfuRequest : std::uint8_t {
  detach = 0,
  download = 1,
  upload = 2,
  get_status = 3,
  clear_status = 4,
  get_state = 5,
  abort = 6,
};

// Section 6.1.2.
enum class DfuState : std::uint8_t {
  app_idle = 0,
  app_detach = 1,
  dfu_idle = 2,
  download_sync = 3,
  download_busy = 4,
  download_idle = 5,
  manifest_sync = 6,
  manifest = 7,
  manifest_wait_reset = 8,
  upload_idle = 9,
  error = 10,
};

// Section 6.1.2.
enum class DfuStatus : std::uint8_t {
  ok = 0,
  target = 1,        // the file is for another device
  file = 2,          // the file is no good
  write = 3,         // the memory cannot be written
  erase = 4,         // erasing failed
  check_erased = 5,  // the memory is not erased behind an erase
  program = 6,       // programming failed
  verify = 7,        // what was programmed reads otherwise
  address = 8,       // beyond the memory
  not_done = 9,      // the end came, and not all of the data
  firmware = 10,     // what the device holds is damaged
  vendor = 11,       // see the string
  usb_reset = 12,    // a bus reset came unexpectedly
  power_on = 13,     // a power-on reset came unexpectedly
  unknown = 14,
  stalled_packet = 15,  // a request that has no place in this state
};

// Section 4.1.3, bmAttributes of the functional descriptor.
inline constexpr std::uint8_t dfu_can_download = 1;
inline constexpr std::uint8_t dfu_can_upload = 2;
inline constexpr std::uint8_t dfu_manifestation_tolerant = 4;
inline constexpr std::uint8_t dfu_will_detach = 8;

// The reference device's words for errVENDOR when nobody has confirmed the image that runs.
inline constexpr const char* dfu_reason_on_trial =
    "the running image is on trial and must be confirmed first";

inline constexpr std::uint8_t dfu_interface_class = 0xFE;
inline constexpr std::uint8_t dfu_interface_subclass = 1;
inline constexpr std::uint8_t dfu_protocol_runtime = 1;
inline constexpr std::uint8_t dfu_protocol_dfu = 2;
inline constexpr std::uint8_t dfu_functional_type = 0x21;
inline constexpr std::uint8_t dfu_functional_bytes = 9;

// The answer to get_status: bStatus, bwPollTimeout (3), bState, iString.
inline constexpr std::uint16_t dfu_status_bytes = 6;

// USB 2.0, 9.3.
struct SetupPacket {
  std::uint8_t request_type = 0;
  std::uint8_t request = 0;
  std::uint16_t value = 0;
  std::uint16_t index = 0;
  std::uint16_t length = 0;
};
inline constexpr std::uint8_t setup_packet_bytes = 8;

inline constexpr std::uint8_t request_in = 0x80;  // of request_type: the device sends
inline constexpr std::uint8_t class_to_interface = 0x21;

}  // namespace assay::firmware::device
