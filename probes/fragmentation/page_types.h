// /proc/pagetypeinfo (mm/vmstat.c; readable by root): free blocks of each order by what may move in
// them, and how many page blocks are of each type.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace assay::probes {

struct PageTypeZone {
  int node = 0;
  std::string zone;                   // "Normal"
  std::string type;                   // "Unmovable", "Movable", "CMA"
  std::vector<std::uint64_t> blocks;  // [order], free
  // The kernel counts to 100000 a list and writes ">100000": at least that many (since 5.5).
  bool at_least = false;
};

struct PageBlocks {
  int node = 0;
  std::string zone;
  std::string type;
  std::uint64_t blocks = 0;
};

struct PageTypes {
  int block_order = 0;  // of a page block: what has one type as a whole
  std::vector<PageTypeZone> free;
  std::vector<PageBlocks> blocks;
};

// Errors: protocol, with the line.
Result<PageTypes> parse_page_types(std::string_view text);

}  // namespace assay::probes
