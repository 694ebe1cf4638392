// Where the pages of this process lie in physical memory (/proc/self/pagemap, kernel documentation
// admin-guide/mm/pagemap). Frames are told to root only; to others the kernel answers 0, which
// means unknown here, never frame 0. A page may move at any time: ask when it matters, and again
// later.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "base/fd.h"
#include "base/machine.h"
#include "base/result.h"

namespace assay::probes {

class PageMap {
 public:
  // Errors: unavailable when frames are not told.
  static Result<PageMap> open();

  static std::size_t page_bytes();

  // Physical address of a byte; none when its page is not present.
  std::optional<std::uint64_t> physical_address(const std::byte* address) const;
  // Frame numbers of the pages of a region, 0 where unknown.
  Result<std::vector<std::uint64_t>> frames(std::span<const std::byte> region) const;

 private:
  explicit PageMap(UniqueFd fd) : fd_(std::move(fd)) {}
  UniqueFd fd_;
};

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
