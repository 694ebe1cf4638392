#include "firmware/image/dfu_suffix.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>

#include "firmware/device/bytes.h"
#include "firmware/device/checksum.h"

namespace assay::firmware {
namespace {

using device::get16;
using device::get32;
using device::put16;
using device::put32;

constexpr std::array<std::uint8_t, 3> suffix_signature = {'U', 'F', 'D'};
constexpr std::uint16_t dfuse = 0x011A;

std::unexpected<Error> bad(std::string what, const std::string& name) {
  return fail(ErrorKind::bad_file, std::move(what), name,
              "get the file again; `dfu-suffix -c FILE` shows what is in its suffix");
}

std::string id_text(std::uint16_t id) {
  return id == any_id ? "any" : fmt::format("{:04x}", id);
}

}  // namespace

Result<DfuFile> read_dfu_file(std::span<const std::uint8_t> file, const std::string& name) {
  DfuFile result{file, std::nullopt};
  if (file.size() < dfu_suffix_bytes) return result;
  const std::uint8_t* end = file.data() + file.size();
  if (!std::equal(suffix_signature.begin(), suffix_signature.end(), end - 8)) return result;
  const std::size_t length = *(end - 5);
  if (length < dfu_suffix_bytes || length > file.size()) {
    return bad(fmt::format("its DFU suffix claims to be {} bytes long", length), name);
  }
  const std::uint32_t crc = ~device::crc32(file.data(), file.size() - 4);
  if (crc != get32(end - 4)) {
    return bad(
        fmt::format("its DFU suffix says CRC {:#010x}, the file has {:#010x}", get32(end - 4), crc),
        name);
  }
  if (length == file.size()) return bad("there is nothing before its DFU suffix", name);
  const DfuSuffix suffix{.vendor = get16(end - 12),
                         .product = get16(end - 14),
                         .device = get16(end - 16),
                         .dfu = get16(end - 10)};
  if (suffix.dfu == dfuse) {
    return fail(ErrorKind::bad_file, "a DfuSe file, which holds addresses and not one image", name,
                "give the plain binary image");
  }
  result.content = file.first(file.size() - length);
  result.suffix = suffix;
  return result;
}

Result<> check_dfu_suffix(const DfuSuffix& suffix, std::uint16_t vendor, std::uint16_t product,
                          const std::string& name) {
  const bool vendor_fits = suffix.vendor == any_id || suffix.vendor == vendor;
  const bool product_fits = suffix.product == any_id || suffix.product == product;
  if (vendor_fits && product_fits) return {};
  return fail(ErrorKind::bad_file,
              fmt::format("the file is for USB device {}:{}, this one is {:04x}:{:04x}",
                          id_text(suffix.vendor), id_text(suffix.product), vendor, product),
              name, "take the file that is for this device");
}

std::vector<std::uint8_t> add_dfu_suffix(std::span<const std::uint8_t> content,
                                         const DfuSuffix& suffix) {
  std::vector<std::uint8_t> file(content.begin(), content.end());
  std::array<std::uint8_t, dfu_suffix_bytes> tail{};
  put16(tail.data(), suffix.device);
  put16(tail.data() + 2, suffix.product);
  put16(tail.data() + 4, suffix.vendor);
  put16(tail.data() + 6, suffix.dfu);
  std::copy(suffix_signature.begin(), suffix_signature.end(), tail.begin() + 8);
  tail[11] = dfu_suffix_bytes;
  file.insert(file.end(), tail.begin(), tail.end());
  std::uint8_t* end = file.data() + file.size();
  put32(end - 4, ~device::crc32(file.data(), file.size() - 4));
  return file;
}

}  // namespace assay::firmware
