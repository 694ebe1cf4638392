// firmware/image/firmware_image.h: an image file.
#include "firmware/image/firmware_image.h"

#include "tests/fuzz/fuzz.h"

using assay::fuzz::require;

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  namespace firmware = assay::firmware;
  const std::vector<std::uint8_t> bytes(data, data + size);
  if (const auto image = firmware::parse_image(bytes, "f")) {
    assay::fuzz::reached("an image");
    require(image->payload().size() + image->signature().size() +
                    firmware::device::image_header_bytes ==
                size,
            "all of the file is header, payload or signature");
  } else {
    require(image.error().kind == assay::ErrorKind::bad_file, "a bad file");
    require(image.error().text().find('\n') == std::string::npos, "one line");
  }
  // Whatever it is, it can be wrapped, and what is wrapped is an image.
  if (size == 0) return 0;
  const auto packed = firmware::pack_image(bytes, {"b", "1.0.0", 0});
  require(packed && firmware::parse_image(packed->bytes, "f"), "what is packed is an image");
  return 0;
}
