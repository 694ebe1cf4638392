#include "station/virtual/faulty_ram.h"

#include <algorithm>

namespace assay::station {
namespace {

// Somewhere inside, not at a border that a test may treat by itself.
std::size_t place(std::size_t lines_in_region) {
  return lines_in_region / 8 * 5 + std::min<std::size_t>(lines_in_region / 16, 7);
}

std::byte& byte_of(std::byte* region, std::size_t line, std::size_t byte) {
  return region[line * probes::line_bytes + byte];
}

// Bit 2 of a byte: 1 where 0x55 is written and 0 where 0xAA is, so that one of two patterns alone
// sees it.
constexpr std::byte bit{0x04};
constexpr std::size_t byte_in_line = 3;
constexpr std::size_t victims_byte = 8;

}  // namespace

std::span<const std::size_t> StuckBitRam::lines(std::size_t lines_in_region) {
  line_[0] = place(lines_in_region);
  return line_;
}

void StuckBitRam::written(std::byte* region, std::size_t line) {
  byte_of(region, line, byte_in_line) |= bit;
}

std::span<const std::size_t> CoupledBitsRam::lines(std::size_t lines_in_region) {
  aggressor_[0] = place(lines_in_region);
  victim_ = std::min(aggressor_[0] + 1, lines_in_region - 1);
  was_set_.reset();
  return aggressor_;
}

void CoupledBitsRam::written(std::byte* region, std::size_t line) {
  const bool is_set = (byte_of(region, line, byte_in_line) & bit) != std::byte{0};
  if (was_set_ == false && is_set) byte_of(region, victim_, victims_byte) ^= bit;
  was_set_ = is_set;
}

}  // namespace assay::station
