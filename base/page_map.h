// Where the pages of this process lie in physical memory (/proc/self/pagemap, kernel documentation
// admin-guide/mm/pagemap). Frames are told to root only; to others the kernel answers 0, which
// means unknown here, never frame 0. A page may move at any time: ask when it matters, and again
// later.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/fd.h"
#include "base/result.h"

namespace assay {

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

}  // namespace assay
