// USB/IP's messages behind the import (Linux, Documentation/usb/usbip_protocol.rst): what the
// kernel's vhci_hcd says to the one who serves a device, and hears from it. Big-endian, 48 bytes
// each; the data of a transfer follows.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "firmware/device/dfu_protocol.h"

namespace assay::firmware::device::usbip {

inline constexpr std::size_t message_bytes = 48;
using Message = std::array<std::uint8_t, message_bytes>;

// A control transfer takes 64 KiB at most; more is not believed.
inline constexpr std::uint32_t most_data_bytes = 0xFFFF;

struct Submit {
  std::uint32_t sequence = 0;
  bool in = false;
  std::uint32_t endpoint = 0;
  std::uint32_t data_bytes = 0;  // that follow, or that are asked for
  std::array<std::uint8_t, setup_packet_bytes> setup{};
};
struct Unlink {
  std::uint32_t sequence = 0;
  std::uint32_t victim = 0;
};

// None for another command, or a length that cannot be.
std::optional<Submit> parse_submit(const Message& message);
std::optional<Unlink> parse_unlink(const Message& message);

// For the other side, which the tests take.
Message write_submit(const Submit& submit);

// `status` is 0 or a negative errno.
Message write_submitted(std::uint32_t sequence, std::int32_t status, std::uint32_t actual_bytes);
Message write_unlinked(std::uint32_t sequence, std::int32_t status);

struct Submitted {
  std::uint32_t sequence = 0;
  std::int32_t status = 0;
  std::uint32_t actual_bytes = 0;
};
std::optional<Submitted> parse_submitted(const Message& message);

}  // namespace assay::firmware::device::usbip
