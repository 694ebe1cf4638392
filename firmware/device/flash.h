// NOR flash as the firmware sees it, and where things lie in it. Freestanding: functions instead of
// virtual ones, which would ask for a runtime library.
#pragma once

#include <cstdint>

namespace assay::firmware::device {

// Each returns false when the chip reported an error.
struct Flash {
  void* context;
  std::uint32_t sector_bytes;  // the least that can be erased
  bool (*read)(void* context, std::uint32_t offset, std::uint8_t* out, std::uint32_t size);
  // One sector to 0xFF. Cut off in the middle it may hold anything.
  bool (*erase)(void* context, std::uint32_t sector_offset);
  // Clears bits only: the place must have been erased. Offset and size are multiples of
  // program_bytes. Cut off in the middle, any part of it may have been written.
  bool (*program)(void* context, std::uint32_t offset, const std::uint8_t* bytes,
                  std::uint32_t size);
};
inline constexpr std::uint32_t program_bytes = 4;

// Everything begins at a sector.
struct FlashLayout {
  std::uint32_t records[2];  // a sector each
  std::uint32_t slots[2];
  std::uint32_t slot_bytes;  // whole sectors
};

}  // namespace assay::firmware::device
