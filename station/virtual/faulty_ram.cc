#include "station/virtual/faulty_ram.h"

#include <algorithm>

namespace assay::station {
namespace {

// Somewhere inside, not at a border that a test may treat by itself.
std::size_t inside(std::size_t lines_in_region, std::size_t eighths) {
  return lines_in_region / 8 * eighths + std::min<std::size_t>(lines_in_region / 16, 7);
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

std::size_t StuckBit::place(std::size_t lines_in_region) {
  return line_ = inside(lines_in_region, 5);
}

void StuckBit::written(std::byte* region) {
  byte_of(region, line_, byte_in_line) |= bit;
}

std::size_t CoupledBits::place(std::size_t lines_in_region) {
  aggressor_ = inside(lines_in_region, 3);
  victim_ = std::min(aggressor_ + 1, lines_in_region - 1);
  was_set_.reset();
  return aggressor_;
}

void CoupledBits::written(std::byte* region) {
  const bool is_set = (byte_of(region, aggressor_, byte_in_line) & bit) != std::byte{0};
  if (was_set_ == false && is_set) byte_of(region, victim_, victims_byte) ^= bit;
  was_set_ = is_set;
}

FaultyRam::FaultyRam(std::vector<std::unique_ptr<CellFault>> faults) {
  for (auto& fault : faults) faults_.push_back({std::move(fault)});
}

std::span<const std::size_t> FaultyRam::lines(std::size_t lines_in_region) {
  lines_.clear();
  for (Placed& placed : faults_) {
    placed.line = placed.fault->place(lines_in_region);
    lines_.push_back(placed.line);
  }
  std::sort(lines_.begin(), lines_.end());
  lines_.erase(std::unique(lines_.begin(), lines_.end()), lines_.end());
  return lines_;
}

void FaultyRam::written(std::byte* region, std::size_t line) {
  for (const Placed& placed : faults_) {
    if (placed.line == line) placed.fault->written(region);
  }
}

}  // namespace assay::station
