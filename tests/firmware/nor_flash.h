// A NOR flash chip in memory: programming clears bits, erasing sets them, and the power can go at
// any byte of either.
#pragma once

#include <cstdint>
#include <random>
#include <vector>

#include "firmware/device/flash.h"

namespace assay::test {

class NorFlash {
 public:
  explicit NorFlash(std::uint32_t sectors, std::uint32_t sector_bytes = 256);

  firmware::device::Flash chip();

  // The power goes in the `operation`th erase or program from now (0 is the next one), when `bytes`
  // of it are done. What an erase had reached is 0xFF; the byte it stands at reads at random.
  void cut_after(std::uint64_t operation, std::uint32_t bytes);
  // The power is back.
  void power_on() { dead_ = false; }
  bool dead() const { return dead_; }
  // Erases and programs so far.
  std::uint64_t operations() const { return operations_; }

  std::vector<std::uint8_t>& bytes() { return bytes_; }
  // Something was programmed where it had not been erased.
  bool misused() const { return misused_; }

 private:
  // How many of `size` bytes the power lets through.
  std::uint32_t allowed(std::uint32_t size);
  bool erase(std::uint32_t offset);
  bool program(std::uint32_t offset, const std::uint8_t* bytes, std::uint32_t size);

  std::vector<std::uint8_t> bytes_;
  std::uint32_t sector_bytes_;
  std::uint64_t operations_ = 0;
  std::uint64_t cut_operation_ = UINT64_MAX;
  std::uint32_t cut_bytes_ = 0;
  bool dead_ = false;
  bool misused_ = false;
  std::mt19937 random_{1};
};

}  // namespace assay::test
