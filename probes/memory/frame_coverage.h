// Which of a machine's page frames were tested, and how they follow each other.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "base/machine.h"
#include "base/page_map.h"
#include "base/result.h"

namespace assay::probes {

// How many bytes follow each other in physical memory: half of the region lies in runs at least
// this long. Neighbours in a test's order are neighbours in DRAM only inside such a run.
std::uint64_t typical_run_bytes(std::span<const std::uint64_t> frames, std::size_t page_bytes);

// Which page frames of the machine have been tested.
class FrameCoverage {
 public:
  void add(std::span<const std::uint64_t> frames);
  std::uint64_t unique() const { return unique_; }

 private:
  std::vector<bool> seen_;
  std::uint64_t unique_ = 0;
};

// Frames that the machine has (/proc/zoneinfo, "present" of all zones): what can be tested and what
// the kernel keeps for itself.
Result<std::uint64_t> present_frames(const Machine& machine);
// The same from the file's text.
Result<std::uint64_t> parse_present_frames(std::string_view zoneinfo);

}  // namespace assay::probes
