// Checks of what came over a wire or lies in flash. Freestanding.
#pragma once

#include <cstddef>
#include <cstdint>

namespace assay::firmware::device {

// CRC-16/XMODEM: polynomial 0x1021, initial 0, not reflected. Of "123456789" it is 0x31C3. Pass the
// result on to continue.
std::uint16_t crc16_xmodem(const std::uint8_t* bytes, std::size_t size, std::uint16_t crc = 0);

// CRC-32/ISO-HDLC (zlib's): of "123456789" it is 0xCBF43926. Pass the result on to continue.
std::uint32_t crc32(const std::uint8_t* bytes, std::size_t size, std::uint32_t crc = 0);

}  // namespace assay::firmware::device
