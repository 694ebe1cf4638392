#include "firmware/device/boot_record.h"

#include "firmware/device/bytes.h"
#include "firmware/device/checksum.h"

namespace assay::firmware::device {
namespace {

// 0 magic "BREC"  4 sequence  8 active  9 trial  10 state  11 zero  12 CRC-32 of the bytes before
constexpr std::uint32_t magic = 0x43455242;
constexpr std::uint32_t record_bytes = 16;
constexpr std::uint32_t crc_at = 12;

bool read_copy(const Flash& flash, std::uint32_t offset, BootRecord* record) {
  std::uint8_t bytes[record_bytes];
  if (!flash.read(flash.context, offset, bytes, record_bytes)) return false;
  if (get32(bytes) != magic || crc32(bytes, crc_at) != get32(bytes + crc_at)) return false;
  const bool sound = bytes[8] <= 1 && (bytes[9] <= 1 || bytes[9] == no_slot) && bytes[10] <= 2;
  if (!sound) return false;
  record->sequence = get32(bytes + 4);
  record->active = bytes[8];
  record->trial = bytes[9];
  record->state = static_cast<BootRecord::State>(bytes[10]);
  return true;
}

// Sequence numbers may wrap round.
bool is_newer(std::uint32_t a, std::uint32_t b) {
  return static_cast<std::int32_t>(a - b) > 0;
}

// The copy that counts: 0 or 1; no_slot when neither does.
std::uint8_t newest(const Flash& flash, const FlashLayout& layout, BootRecord* record) {
  BootRecord copies[2];
  bool whole[2];
  for (int i = 0; i < 2; ++i) whole[i] = read_copy(flash, layout.records[i], &copies[i]);
  if (!whole[0] && !whole[1]) return no_slot;
  const int best = whole[0] && whole[1] ? (is_newer(copies[1].sequence, copies[0].sequence) ? 1 : 0)
                   : whole[1]           ? 1
                                        : 0;
  *record = copies[best];
  return static_cast<std::uint8_t>(best);
}

}  // namespace

bool read_boot_record(const Flash& flash, const FlashLayout& layout, BootRecord* record) {
  return newest(flash, layout, record) != no_slot;
}

bool write_boot_record(const Flash& flash, const FlashLayout& layout, BootRecord record) {
  BootRecord current;
  const std::uint8_t copy = newest(flash, layout, &current);
  record.sequence = copy == no_slot ? 1 : current.sequence + 1;
  const std::uint32_t target = layout.records[copy == 0 ? 1 : 0];
  std::uint8_t bytes[record_bytes] = {};
  put32(bytes, magic);
  put32(bytes + 4, record.sequence);
  bytes[8] = record.active;
  bytes[9] = record.trial;
  bytes[10] = static_cast<std::uint8_t>(record.state);
  put32(bytes + crc_at, crc32(bytes, crc_at));
  if (!flash.erase(flash.context, target) ||
      !flash.program(flash.context, target, bytes, record_bytes)) {
    return false;
  }
  // What the chip says it wrote is not yet what it reads.
  BootRecord check;
  return read_copy(flash, target, &check) && check.sequence == record.sequence;
}

}  // namespace assay::firmware::device
