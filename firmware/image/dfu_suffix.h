// The suffix of a DFU file (DFU 1.1, appendix B): which device the file is for, and a CRC. It is
// never sent to the device.
//
// From the end of the file backwards: dwCRC (4), bLength (1), "UFD" (3), bcdDFU (2), idVendor (2),
// idProduct (2), bcdDevice (2), all little-endian. dwCRC is CRC-32 without the final inversion, of
// all the bytes before it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"

namespace assay::firmware {

inline constexpr std::size_t dfu_suffix_bytes = 16;
inline constexpr std::uint16_t any_id = 0xFFFF;

struct DfuSuffix {
  std::uint16_t vendor = any_id;
  std::uint16_t product = any_id;
  std::uint16_t device = any_id;  // bcdDevice
  std::uint16_t dfu = 0x0100;     // bcdDFU, which is 0x0100 in files of DFU 1.1 too
};

struct DfuFile {
  std::span<const std::uint8_t> content;  // without the suffix
  std::optional<DfuSuffix> suffix;        // none when the file ends in none
};

// `name` is for errors, all of them ErrorKind::bad_file: a suffix with a wrong CRC or length,
// nothing before the suffix, or a file of ST's DfuSe, which is another format (bcdDFU 0x011A).
Result<DfuFile> read_dfu_file(std::span<const std::uint8_t> file, const std::string& name);

// ErrorKind::bad_file when the suffix names another device.
Result<> check_dfu_suffix(const DfuSuffix& suffix, std::uint16_t vendor, std::uint16_t product,
                          const std::string& name);

// The content and its suffix.
std::vector<std::uint8_t> add_dfu_suffix(std::span<const std::uint8_t> content,
                                         const DfuSuffix& suffix);

}  // namespace assay::firmware
