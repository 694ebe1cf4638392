// A NOR flash chip in a file: it outlives the process, as a chip does a power cut.
#pragma once

#include <cstdint>
#include <string>

#include "firmware/device/flash.h"

namespace assay::firmware::device::host {

class FlashFile {
 public:
  static constexpr std::uint32_t sector_bytes = 64 << 10;
  static constexpr std::uint32_t slot_sectors = 128;  // 8 MiB
  static constexpr FlashLayout layout{{0, sector_bytes},
                                      {2 * sector_bytes, (2 + slot_sectors) * sector_bytes},
                                      slot_sectors* sector_bytes};

  // Opens the file, or makes an erased chip; locks it: two processes on one chip are none. False,
  // and a line in `error`, when that cannot be.
  bool open(const std::string& path, std::string* error);
  ~FlashFile();
  FlashFile() = default;
  FlashFile(const FlashFile&) = delete;
  FlashFile& operator=(const FlashFile&) = delete;

  Flash chip();

 private:
  bool erase(std::uint32_t offset) const;
  bool program(std::uint32_t offset, const std::uint8_t* bytes, std::uint32_t size) const;

  int fd_ = -1;
};

}  // namespace assay::firmware::device::host
