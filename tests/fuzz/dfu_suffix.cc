// firmware/image/dfu_suffix.h: the suffix of a DFU file.
#include "firmware/image/dfu_suffix.h"

#include <algorithm>
#include <vector>

#include "firmware/device/bytes.h"
#include "firmware/device/checksum.h"
#include "tests/fuzz/fuzz.h"

using assay::fuzz::require;
using namespace assay::firmware;

namespace {

void look_at(std::span<const std::uint8_t> file) {
  const auto read = read_dfu_file(file, "file");
  if (!read) {
    require(read.error().kind == assay::ErrorKind::bad_file, "a wrong file is a wrong file");
    return;
  }
  require(read->content.data() == file.data(), "the content is the file's beginning");
  if (!read->suffix) {
    require(read->content.size() == file.size(), "a file without suffix is its content");
    return;
  }
  assay::fuzz::reached("a suffix");
  require(!read->content.empty() && read->content.size() + dfu_suffix_bytes <= file.size(),
          "content and suffix are the file");
  const auto again = add_dfu_suffix(read->content, *read->suffix);
  const auto back = read_dfu_file(again, "again");
  require(back && back->suffix && std::ranges::equal(back->content, read->content) &&
              back->suffix->vendor == read->suffix->vendor &&
              back->suffix->product == read->suffix->product &&
              back->suffix->device == read->suffix->device &&
              back->suffix->dfu == read->suffix->dfu,
          "what was read is written and read again");
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::vector<std::uint8_t> file(data, data + size);
  look_at(file);
  if (size < dfu_suffix_bytes) return 0;
  // With the CRC right, which chance does not find.
  device::put32(file.data() + size - 4, ~device::crc32(file.data(), size - 4));
  look_at(file);
  return 0;
}
