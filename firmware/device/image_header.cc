#include "firmware/device/image_header.h"

#include "firmware/device/bytes.h"
#include "firmware/device/checksum.h"
#include "firmware/device/text_field.h"

namespace assay::firmware::device {
namespace {

constexpr std::uint8_t magic[4] = {'A', 'S', 'F', 'W'};
constexpr std::size_t format_at = 4;
constexpr std::size_t header_size_at = 6;
constexpr std::size_t board_at = 8;
constexpr std::size_t version_at = 40;
constexpr std::size_t payload_at = 88;
constexpr std::size_t counter_at = 92;
constexpr std::size_t sha_at = 96;
constexpr std::size_t signature_at = 128;
constexpr std::size_t crc_at = 252;
constexpr std::uint16_t format = 1;

}  // namespace

HeaderError parse_image_header(const std::uint8_t bytes[image_header_bytes], ImageHeader* header) {
  for (std::size_t i = 0; i < sizeof magic; ++i) {
    if (bytes[i] != magic[i]) return HeaderError::magic;
  }
  if (get16(bytes + format_at) != format || get16(bytes + header_size_at) != image_header_bytes) {
    return HeaderError::format;
  }
  if (crc32(bytes, crc_at) != get32(bytes + crc_at)) return HeaderError::crc;
  ImageHeader read;
  if (!get_text(bytes + board_at, image_board_bytes, read.board) ||
      !get_text(bytes + version_at, image_version_bytes, read.version)) {
    return HeaderError::text;
  }
  read.payload_bytes = get32(bytes + payload_at);
  read.security_counter = get32(bytes + counter_at);
  for (std::size_t i = 0; i < sizeof read.sha256; ++i) read.sha256[i] = bytes[sha_at + i];
  read.signature_bytes = get32(bytes + signature_at);
  if (read.payload_bytes == 0 ||
      (read.signature_bytes != 0 && read.signature_bytes != image_signature_bytes)) {
    return HeaderError::size;
  }
  *header = read;
  return HeaderError::none;
}

void write_image_header(const ImageHeader& header, std::uint8_t bytes[image_header_bytes]) {
  for (std::size_t i = 0; i < image_header_bytes; ++i) bytes[i] = 0;
  for (std::size_t i = 0; i < sizeof magic; ++i) bytes[i] = magic[i];
  put16(bytes + format_at, format);
  put16(bytes + header_size_at, image_header_bytes);
  put_text(header.board, image_board_bytes, bytes + board_at);
  put_text(header.version, image_version_bytes, bytes + version_at);
  put32(bytes + payload_at, header.payload_bytes);
  put32(bytes + counter_at, header.security_counter);
  for (std::size_t i = 0; i < sizeof header.sha256; ++i) bytes[sha_at + i] = header.sha256[i];
  put32(bytes + signature_at, header.signature_bytes);
  put32(bytes + crc_at, crc32(bytes, crc_at));
}

bool same_text(const char* a, const char* b) {
  while (*a != '\0' && *a == *b) {
    ++a;
    ++b;
  }
  return *a == *b;
}

}  // namespace assay::firmware::device
