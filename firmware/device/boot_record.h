// What to boot, kept through power cuts: two copies in a sector each. A new one is written over the
// older copy, with a higher sequence number and a CRC; until it is whole, the other one counts.
//
// Freestanding.
#pragma once

#include <cstdint>

#include "firmware/device/flash.h"

namespace assay::firmware::device {

inline constexpr std::uint8_t no_slot = 0xFF;

struct BootRecord {
  enum class State : std::uint8_t {
    settled = 0,  // boot `active`
    pending = 1,  // boot `trial` next time, once
    trial = 2,    // `trial` has been booted and has not been confirmed
  };
  std::uint32_t sequence = 0;
  std::uint8_t active = 0;  // the slot that is known to be good
  std::uint8_t trial = no_slot;
  State state = State::settled;
};

// The newest copy that is whole. False when there is none: a chip that was never written.
bool read_boot_record(const Flash& flash, const FlashLayout& layout, BootRecord* record);

// Writes `record` with the next sequence number. False when the chip failed; the old one counts.
bool write_boot_record(const Flash& flash, const FlashLayout& layout, BootRecord record);

}  // namespace assay::firmware::device
