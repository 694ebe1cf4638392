#include "tests/firmware/nor_flash.h"

#include <algorithm>
#include <cstring>

namespace assay::test {

NorFlash::NorFlash(std::uint32_t sectors, std::uint32_t sector_bytes)
    : bytes_(std::size_t{sectors} * sector_bytes, 0xFF), sector_bytes_(sector_bytes) {}

firmware::device::Flash NorFlash::chip() {
  return {
      this, sector_bytes_,
      [](void* self, std::uint32_t offset, std::uint8_t* out, std::uint32_t size) {
        const auto& flash = *static_cast<NorFlash*>(self);
        if (flash.dead_ || offset + std::uint64_t{size} > flash.bytes_.size()) return false;
        std::memcpy(out, flash.bytes_.data() + offset, size);
        return true;
      },
      [](void* self, std::uint32_t offset) { return static_cast<NorFlash*>(self)->erase(offset); },
      [](void* self, std::uint32_t offset, const std::uint8_t* bytes, std::uint32_t size) {
        return static_cast<NorFlash*>(self)->program(offset, bytes, size);
      }};
}

void NorFlash::cut_after(std::uint64_t operation, std::uint32_t bytes) {
  cut_operation_ = operations_ + operation;
  cut_bytes_ = bytes;
}

std::uint32_t NorFlash::allowed(std::uint32_t size) {
  if (operations_++ != cut_operation_) return size;
  dead_ = true;
  cut_operation_ = UINT64_MAX;
  return std::min(size, cut_bytes_);
}

bool NorFlash::erase(std::uint32_t offset) {
  if (dead_ || offset % sector_bytes_ != 0 || offset >= bytes_.size()) return false;
  const std::uint32_t done = allowed(sector_bytes_);
  std::fill_n(bytes_.begin() + offset, done, std::uint8_t{0xFF});
  if (dead_) {
    // Cells that were on their way read one thing now and another later.
    for (std::uint32_t i = done; i < sector_bytes_; ++i) {
      if (random_() % 4 == 0) bytes_[offset + i] |= static_cast<std::uint8_t>(random_());
    }
  }
  return !dead_;
}

bool NorFlash::program(std::uint32_t offset, const std::uint8_t* bytes, std::uint32_t size) {
  if (dead_ || offset % 4 != 0 || size % 4 != 0 || offset + std::uint64_t{size} > bytes_.size()) {
    return false;
  }
  const std::uint32_t done = allowed(size);
  for (std::uint32_t i = 0; i < done; ++i) {
    if ((bytes_[offset + i] & bytes[i]) != bytes[i]) misused_ = true;
    bytes_[offset + i] &= bytes[i];
  }
  return !dead_;
}

}  // namespace assay::test
