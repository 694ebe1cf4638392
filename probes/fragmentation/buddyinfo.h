// /proc/buddyinfo: free blocks of each order, for each zone of each node. A block of order n is
// 2^n pages (Documentation/filesystems/proc.rst).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace assay::probes {

struct BuddyZone {
  int node = 0;
  std::string zone;                   // "Normal"
  std::vector<std::uint64_t> blocks;  // [order], free
};

struct BuddyInfo {
  std::vector<BuddyZone> zones;

  std::uint64_t free_bytes(std::uint64_t page_bytes) const;
  // -1 when nothing is free.
  int largest_order() const;
  // The share of free memory that cannot serve a request of `order`, 0..1 (the kernel's unusable
  // free space index, mm/vmstat.c). 1 when nothing is free.
  double unusable_index(int order) const;
};

// Any number of nodes, zones and orders (up to 64 each line). Errors: protocol, with the line.
Result<BuddyInfo> parse_buddyinfo(std::string_view text);

}  // namespace assay::probes
