// Runs a memory test on a simulated faulty memory, by the same code that runs it on real memory
// (probes/memory/element-inl.h).
#pragma once

#include <vector>

#include "probes/memory/algorithm.h"
#include "tests/probes/memory/simulated_memory.h"

namespace assay::test {

struct Access {
  enum class Kind { read, write, flush };
  std::size_t cell = 0;
  Kind kind = Kind::read;
  std::uint8_t data = 0;
};

// The accesses of an element to cells [0, cells) and the flushes of them, in their order.
std::vector<Access> accesses_of(const probes::Element& element, probes::Order order,
                                probes::Flush flush, std::size_t batch_cells, std::size_t cells);

// What lies between the elements and the cells.
enum class Between {
  nothing,  // each operation reaches its cell: the strict order of the elements, as papers have it
  // A write-back cache that has room for all cells: it fetches what is written and keeps it until
  // it is flushed, or the element has ended. Writes that stream go past it.
  cache,
};

// Percent of the class's instances that the test sees whatever the cells held before, and whichever
// way its elements without an order go. A cell is a word; a fault is in one bit of it, and counts
// by the share of the 64 bits in which it is seen, or in all of them. Batches are of two cells.
double coverage(const probes::Algorithm& test, const FaultClass& faults, std::size_t cells,
                Between between = Between::nothing, probes::Flush policy = probes::Flush::none);

}  // namespace assay::test
