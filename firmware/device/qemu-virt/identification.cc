#include "firmware/device/qemu-virt/identification.h"

#include "firmware/device/bytes.h"
#include "firmware/device/checksum.h"
#include "firmware/device/text_field.h"

namespace assay::firmware::device::qemu_virt {
namespace {

constexpr std::uint32_t magic = 0x44495341;
constexpr std::uint16_t format = 1;
constexpr std::uint32_t board_at = 8;
constexpr std::uint32_t serial_at = 40;
constexpr std::uint32_t rom_version_at = 72;
constexpr std::uint32_t zero_at = 120;
constexpr std::uint32_t crc_at = 124;

}  // namespace

bool parse_identification(const std::uint8_t bytes[identification_bytes], Identification* out) {
  if (get32(bytes) != magic || get16(bytes + 4) != format ||
      get16(bytes + 6) != identification_bytes || get32(bytes + zero_at) != 0 ||
      crc32(bytes, crc_at) != get32(bytes + crc_at)) {
    return false;
  }
  Identification read;
  if (!get_text(bytes + board_at, serial_at - board_at, read.board) ||
      !get_text(bytes + serial_at, rom_version_at - serial_at, read.serial) ||
      !get_text(bytes + rom_version_at, zero_at - rom_version_at, read.rom_version)) {
    return false;
  }
  *out = read;
  return true;
}

void write_identification(const Identification& identification,
                          std::uint8_t bytes[identification_bytes]) {
  for (std::uint32_t i = 0; i < identification_bytes; ++i) bytes[i] = 0;
  put32(bytes, magic);
  put16(bytes + 4, format);
  put16(bytes + 6, identification_bytes);
  put_text(identification.board, serial_at - board_at, bytes + board_at);
  put_text(identification.serial, rom_version_at - serial_at, bytes + serial_at);
  put_text(identification.rom_version, zero_at - rom_version_at, bytes + rom_version_at);
  put32(bytes + crc_at, crc32(bytes, crc_at));
}

}  // namespace assay::firmware::device::qemu_virt
