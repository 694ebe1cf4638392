// Firmware images as files: read, made, and told about. The format is device/image_header.h's.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/semver.h"
#include "firmware/device/image_header.h"

namespace assay::firmware {

// Larger than any slot; keeps a wrong file from being read whole.
inline constexpr std::size_t max_image_bytes = 64 << 20;

struct FirmwareImage {
  device::ImageHeader header;
  SemanticVersion version;
  std::vector<std::uint8_t> bytes;  // the whole file: header, payload, signature

  std::span<const std::uint8_t> payload() const {
    return std::span(bytes).subspan(device::image_header_bytes, header.payload_bytes);
  }
  // 0 or 64 bytes.
  std::span<const std::uint8_t> signature() const {
    return std::span(bytes).subspan(device::image_header_bytes + header.payload_bytes);
  }
  std::string sha256_text() const;  // of the payload, 64 hexadecimal digits
};

// Whole, its length as the header says, its payload with the header's hash, its version semantic.
// `where` names it in errors. Errors: bad_file, in one line.
Result<FirmwareImage> parse_image(std::vector<std::uint8_t> bytes, const std::string& where);

// Whether it begins as one: what is wrong with it then is an error, not another kind of file.
bool begins_as_image(std::span<const std::uint8_t> bytes);

// A file that holds one. Errors: those of reading a regular file, and of parse_image().
Result<FirmwareImage> read_image(const std::string& path);

struct ImageIdentity {
  std::string board;    // 1..32 printable ASCII characters without spaces
  std::string version;  // semantic, at most 48 characters
  std::uint32_t security_counter = 0;
};

// An image around a vendor's raw payload. Errors: usage (identity; an empty payload).
Result<FirmwareImage> pack_image(std::span<const std::uint8_t> payload,
                                 const ImageIdentity& identity);

}  // namespace assay::firmware
