// The header in front of a firmware image. The same bytes in a file, on the wire and in a slot.
// Freestanding; the host tools read and write it with this code too.
//
// All numbers little-endian:
//   0  magic "ASFW"        4  format 1 (u16)        6  header bytes 256 (u16)
//   8  board id, 32 bytes, zero-padded             40  version, 48 bytes, zero-padded text
//  88  payload bytes (u32)                         92  security counter (u32)
//  96  SHA-256 of the payload, 32 bytes           128  signature bytes behind the payload (u32): 0,
//  64
// 132  reserved, zero                             252  CRC-32 of the bytes before it (u32)
//
// A signature is Ed25519 over the 256 bytes of the header, which hold the payload's hash.
#pragma once

#include <cstddef>
#include <cstdint>

namespace assay::firmware::device {

inline constexpr std::uint32_t image_header_bytes = 256;
inline constexpr std::uint32_t image_signature_bytes = 64;
inline constexpr std::size_t image_board_bytes = 32;
inline constexpr std::size_t image_version_bytes = 48;

struct ImageHeader {
  char board[image_board_bytes + 1] = {};      // zero-terminated
  char version[image_version_bytes + 1] = {};  // zero-terminated
  std::uint32_t payload_bytes = 0;
  std::uint32_t security_counter = 0;
  std::uint8_t sha256[32] = {};
  std::uint32_t signature_bytes = 0;

  // Header, payload and signature.
  std::uint64_t total_bytes() const {
    return image_header_bytes + std::uint64_t{payload_bytes} + signature_bytes;
  }
};

enum class HeaderError : std::uint8_t {
  none,
  magic,   // no image
  format,  // of a later kind
  crc,     // damaged
  text,    // board or version is empty or not printable ASCII
  size,    // no payload, or a signature of another length
};

HeaderError parse_image_header(const std::uint8_t bytes[image_header_bytes], ImageHeader* header);
// The texts must be as parse_image_header() takes them.
void write_image_header(const ImageHeader& header, std::uint8_t bytes[image_header_bytes]);

bool same_text(const char* a, const char* b);

}  // namespace assay::firmware::device
