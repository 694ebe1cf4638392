// The list of free memory that the kernel prints when an allocation failed or a process is killed
// (show_free_areas(), mm/show_mem.c; mm/page_alloc.c before 6.3). No I/O.
//
//   Node 0 DMA32: 1*4kB (U) 0*8kB 5*16kB (UM) ... 2*4096kB (C) = 9012kB
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace assay::probes {

struct FreeBlocks {
  std::uint64_t block_bytes = 0;
  std::uint64_t count = 0;
  // What the blocks are kept for, a letter each: U unmovable, M movable, E reclaimable, H atomic
  // requests, C CMA, I isolated. Empty: the kernel did not say, or there is none.
  std::string types;
};

struct FreeZone {
  int node = 0;
  std::string name;                // "DMA32"
  std::vector<FreeBlocks> blocks;  // the first one is a page
  bool is_whole = false;           // its sum stands behind it
};

// What a request may take of it.
struct UsableMemory {
  std::uint64_t free_bytes = 0;     // in the zones that serve it
  std::uint64_t usable_bytes = 0;   // of that, not kept for others
  std::uint64_t largest_bytes = 0;  // the largest block not kept for others
  std::string zones;                // "DMA, DMA32"; empty: all of them
};

class FreeMemory {
 public:
  // Takes one message. True when it was a part of the list. Of a zone that comes again, the first
  // list stays: the next failure has one of its own.
  bool add(std::string_view message);

  bool empty() const { return zones_.empty(); }
  const std::vector<FreeZone>& zones() const { return zones_; }
  // As the list shows it.
  std::optional<std::uint64_t> page_bytes() const;
  std::uint64_t free_bytes() const;
  // False when a line was cut off: there was more.
  bool is_whole() const;
  // "N pages cma reserved".
  std::optional<std::uint64_t> cma_pages() const { return cma_pages_; }

  // For a request with these flags: "0x6000c0(GFP_KERNEL|GFP_DMA32)". Numbers alone say nothing
  // here (their meaning changed with each kernel): then every zone serves.
  UsableMemory usable_for(std::string_view mode) const;

 private:
  std::vector<FreeZone> zones_;
  std::optional<std::uint64_t> cma_pages_;
};

}  // namespace assay::probes
