// Finds rows of one DRAM bank by the time that accesses take. Two lines in different rows of the
// same bank make the bank close one row and open the other at every turn; lines of the same row, or
// of different banks, do not (Pessl et al., DRAMA, 2016). Neither the mapping of addresses to banks
// nor the size of a row need be known.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "base/result.h"

namespace assay::probes {

// Nanoseconds of one turn of alternating reads of two lines (offsets in bytes), past the caches.
using AlternatingAccess = std::function<double(std::size_t a, std::size_t b)>;

// Two rows of a bank with one between them.
struct RowPair {
  std::size_t above = 0;                 // a line of the first, offset in bytes
  std::size_t below = 0;                 // a line of the second
  std::vector<std::size_t> victim_rows;  // lines found in the row between
};

// Turns of at least this many nanoseconds change rows. Errors: unavailable when the times do not
// fall into two groups: one bank, a cache that cannot be flushed, or too much noise.
Result<double> row_conflict_threshold(const AlternatingAccess& access,
                                      std::span<const std::size_t> lines);

// The pair of which `above` is the first row, among `lines` sorted by physical address in one
// physically contiguous run. Errors: unavailable when there is none.
Result<RowPair> find_row_pair(const AlternatingAccess& access, double threshold,
                              std::span<const std::size_t> lines, std::size_t above);

}  // namespace assay::probes
