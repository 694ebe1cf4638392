// /proc/buddyinfo: free blocks of each order, for each zone of each node. A block of order n is
// 2^n pages (Documentation/filesystems/proc.rst).
#pragma once

#include <cstdint>
#include <optional>
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

// The share of a zone's free memory that cannot serve a request of `order`, 0..1 (the kernel's
// unusable free space index, mm/vmstat.c). 1 when nothing is free.
double unusable_index(const BuddyZone& zone, int order);

// Why a request of `order` would fail in a zone (the kernel's fragmentation index, mm/vmstat.c:
// __fragmentation_index()): towards 0 for lack of memory, towards 1 because of fragmentation. None
// where it would not fail, or nothing is free.
std::optional<double> fragmentation_index(const BuddyZone& zone, int order);

struct BuddyInfo {
  std::vector<BuddyZone> zones;

  std::uint64_t free_bytes(std::uint64_t page_bytes) const;
  // -1 when nothing is free.
  int largest_order() const;
  // unusable_index() of all zones together.
  double unusable_index(int order) const;
};

// Any number of nodes, zones and orders (up to 64 each line). Errors: protocol, with the line.
Result<BuddyInfo> parse_buddyinfo(std::string_view text);

}  // namespace assay::probes
