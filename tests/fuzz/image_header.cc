// firmware/device/image_header.h: the header in front of a firmware image.
#include "firmware/device/image_header.h"

#include <algorithm>
#include <array>

#include "firmware/device/checksum.h"
#include "tests/fuzz/fuzz.h"

using assay::fuzz::require;
using namespace assay::firmware::device;

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::array<std::uint8_t, image_header_bytes> bytes{};
  std::copy_n(data, std::min<std::size_t>(size, bytes.size()), bytes.begin());
  for (const bool mend_crc : {false, true}) {
    if (mend_crc) {
      const std::uint32_t crc = crc32(bytes.data(), 252);
      for (std::size_t i = 0; i < 4; ++i) bytes[252 + i] = static_cast<std::uint8_t>(crc >> 8 * i);
    }
    ImageHeader header;
    if (parse_image_header(bytes.data(), &header) != HeaderError::none) continue;
    assay::fuzz::reached(mend_crc ? "a header with its CRC mended" : "a header");
    require(header.payload_bytes > 0 && header.board[0] != 0 && header.version[0] != 0,
            "an image has a board, a version and a payload");
    std::array<std::uint8_t, image_header_bytes> again{};
    write_image_header(header, again.data());
    ImageHeader read;
    require(parse_image_header(again.data(), &read) == HeaderError::none &&
                same_text(read.board, header.board) && same_text(read.version, header.version) &&
                read.total_bytes() == header.total_bytes(),
            "what was read is written and read again");
  }
  return 0;
}
