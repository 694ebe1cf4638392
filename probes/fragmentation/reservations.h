// Memory that is set aside: contiguous areas (CMA), pools of huge pages, ranges that firmware and
// kernel keep. Bytes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/machine.h"
#include "base/result.h"

namespace assay::probes {

struct CmaArea {
  std::string name;  // "reserved", "linux,cma"
  std::uint64_t bytes = 0;
  std::optional<std::uint64_t> used_bytes;    // none: this kernel does not tell
  std::optional<std::uint64_t> longest_free;  // one allocation can have at most that
  std::uint64_t failed = 0;                   // page allocations that failed (CONFIG_CMA_SYSFS)
};

struct CmaMemory {
  std::uint64_t total_bytes = 0;  // CmaTotal
  std::uint64_t free_bytes = 0;   // CmaFree
  // /sys/kernel/debug/cma and /sys/kernel/mm/cma; empty where the kernel shows none.
  std::vector<CmaArea> areas;
};

// None: the kernel has no CMA. Errors: those of reading /proc/meminfo.
Result<std::optional<CmaMemory>> read_cma(const Machine& machine, std::uint64_t page_bytes);

struct HugePagePool {
  std::uint64_t page_bytes = 0;
  std::uint64_t pages = 0;     // nr_hugepages
  std::uint64_t free = 0;      // free_hugepages
  std::uint64_t reserved = 0;  // resv_hugepages: promised, not yet taken
  std::uint64_t surplus = 0;
};

// Of each size, the largest first (Documentation/admin-guide/mm/hugetlbpage.rst).
std::vector<HugePagePool> read_huge_page_pools(const Machine& machine);

struct ReservedRange {
  std::uint64_t first = 0;  // physical address
  std::uint64_t last = 0;   // inclusive
  std::string name;         // "Reserved", "Kernel code", "ramoops"
};

// What /proc/iomem has inside of System RAM, and "reserved" ranges. Without root all addresses are
// 0: those are left out. Errors: protocol, with the line.
Result<std::vector<ReservedRange>> parse_reserved_ranges(std::string_view iomem);

}  // namespace assay::probes
