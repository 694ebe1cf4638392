// The bytes of XMODEM and YMODEM (Forsberg, XMODEM/YMODEM Protocol Reference, 1988).
#pragma once

#include <cstdint>

namespace assay::firmware::device::ymodem {

inline constexpr std::uint8_t soh = 0x01;  // a block of 128 bytes
inline constexpr std::uint8_t stx = 0x02;  // of 1024
inline constexpr std::uint8_t eot = 0x04;
inline constexpr std::uint8_t ack = 0x06;
inline constexpr std::uint8_t backspace = 0x08;
inline constexpr std::uint8_t nak = 0x15;
inline constexpr std::uint8_t can = 0x18;

// Who gives up sends so many CAN, and as many backspaces for a shell that sees them.
inline constexpr int cancel_bytes = 8;

}  // namespace assay::firmware::device::ymodem
