// Who a board is: written at the factory into a sector of its own, read at each boot. Freestanding;
// whoever makes boards writes it with this code too.
//
// All numbers little-endian:
//   0  magic "ASID"     4  format 1 (u16)     6  bytes 128 (u16)
//   8  board id, 32 bytes, zero-padded       40  serial number, 32 bytes, zero-padded
//  72  ROM version, 48 bytes, zero-padded   120  zero
// 124  CRC-32 of the bytes before it (u32)
#pragma once

#include <cstddef>
#include <cstdint>

namespace assay::firmware::device::qemu_virt {

inline constexpr std::uint32_t identification_bytes = 128;

// Zero-terminated, 1 to size - 1 printable ASCII characters without spaces.
struct Identification {
  char board[33] = "reference";
  char serial[33] = "M6-0000-000000";
  char rom_version[49] = "0.0.1-rom";
};

// False, and nothing changed, when the bytes are no identification or a damaged one.
bool parse_identification(const std::uint8_t bytes[identification_bytes], Identification* out);
// The texts must be as parse_identification() takes them.
void write_identification(const Identification& identification,
                          std::uint8_t bytes[identification_bytes]);

}  // namespace assay::firmware::device::qemu_virt
