// The kernel's pools of huge pages (admin-guide/mm/hugetlbpage): how many are free, and a wish for
// more.
#pragma once

#include <cstdint>

#include "base/machine.h"

namespace assay::runtime {

// Free and promised to nobody; 0 where the kernel has no such size.
std::uint64_t free_huge_pages(const Machine& machine, std::uint64_t page_bytes);

// Changes the size of the pool by `change`; the kernel compacts memory for it as far as it can.
// Returns by how much it has changed: 0 without root.
std::int64_t resize_huge_page_pool(const Machine& machine, std::uint64_t page_bytes,
                                   std::int64_t change);

}  // namespace assay::runtime
