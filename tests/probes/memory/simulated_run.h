// Runs a memory test on a simulated faulty memory, by the same code that runs it on real memory
// (probes/memory/element-inl.h).
#pragma once

#include <vector>

#include "probes/memory/algorithm.h"
#include "tests/probes/memory/simulated_memory.h"

namespace assay::test {

struct Access {
  std::size_t cell = 0;
  bool write = false;
  std::uint8_t data = 0;
  bool operator==(const Access&) const = default;
};

// The accesses of an element to cells [0, cells), in their order.
std::vector<Access> accesses_of(const probes::Element& element, probes::Order order,
                                probes::Flush flush, std::size_t batch_cells, std::size_t cells);

// Percent of the class's instances that the test sees whatever the cells held before, and whichever
// way its elements without an order go. A cell is a word; a fault is in one bit of it, and counts
// by the share of the 64 bits in which it is seen, or in all of them. `flush` none is the strict
// order of the elements; batch is what elements that read what they wrote do by default, with
// batches of two cells.
double coverage(const probes::Algorithm& test, const FaultClass& faults, std::size_t cells,
                probes::Flush flush);

}  // namespace assay::test
