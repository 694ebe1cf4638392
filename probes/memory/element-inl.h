// How an element of a memory test goes over cells: the one place where orders, operations and
// flushes become accesses. Compiled once for each instruction set with the kernel of real memory,
// and by the tests with a simulated memory, so that both execute the same.
//
// Memory has
//   Prepare(op)                  what Write and Read take: the operation with what all cells share
//   Write(cell, op, streaming)   streaming: past the caches, so that DRAM sees it before the next
//                                cells' operations
//   Read(cell, op)               and notes what differs
//   Flush(first, last)           out of every cache, those cells, and fenced
// and Op has `write`. Up is the order of rising cell numbers.

// Per-target include guard, as Highway wants it.
#if defined(ASSAY_PROBES_MEMORY_ELEMENT_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef ASSAY_PROBES_MEMORY_ELEMENT_INL_H_
#undef ASSAY_PROBES_MEMORY_ELEMENT_INL_H_
#else
#define ASSAY_PROBES_MEMORY_ELEMENT_INL_H_
#endif

#include <hwy/highway.h>

#include <algorithm>
#include <cstddef>
#include <span>
#include <type_traits>

#include "probes/memory/algorithm.h"

HWY_BEFORE_NAMESPACE();
namespace assay::probes::HWY_NAMESPACE {

// Inlined by force: a call for each cell would cost as much as its operations.
#define ASSAY_INLINE_LAMBDA __attribute__((always_inline))

template <class Visit>
HWY_INLINE void ForCells(Order order, std::size_t first, std::size_t last, const Visit& visit) {
  if (order == Order::down) {
    for (std::size_t cell = last; cell-- > first;) visit(cell);
  } else {
    for (std::size_t cell = first; cell < last; ++cell) visit(cell);
  }
}

template <class Op, class Memory>
HWY_INLINE void RunCell(std::span<const Op> ops, Flush flush, std::size_t cell, Memory& memory) {
  const bool flush_lines = flush == Flush::line;
  for (std::size_t i = 0; i < ops.size(); ++i) {
    if (flush_lines && i > 0 && cache_hides(ops[i - 1], ops[i])) memory.Flush(cell, cell + 1);
    if (ops[i].write) {
      memory.Write(cell, memory.Prepare(ops[i]), flush != Flush::none && i + 1 == ops.size());
    } else {
      memory.Read(cell, memory.Prepare(ops[i]));
    }
  }
  // Out of the caches, too, what a read has brought there; and streams have arrived.
  if (flush_lines) memory.Flush(cell, cell + 1);
}

// All operations on one cell, then on the next. The short elements that chains and most March tests
// are made of have loops of their own, where the compiler keeps all they need in registers: each
// access of a loop to anything but the cell leaves the processor less room for cells on their way.
template <class Op, class Memory>
HWY_NOINLINE void RunOperations(Order order, std::span<const Op> ops, Flush flush,
                                std::size_t first, std::size_t last, Memory& memory) {
  const auto read_write = [&](auto streaming) ASSAY_INLINE_LAMBDA {
    const auto r = memory.Prepare(ops[0]);
    const auto w = memory.Prepare(ops[1]);
    ForCells(order, first, last, [&](std::size_t cell) ASSAY_INLINE_LAMBDA {
      memory.Read(cell, r);
      memory.Write(cell, w, decltype(streaming)::value);
    });
  };
  if (flush == Flush::line) {
    ForCells(order, first, last, [&](std::size_t cell) ASSAY_INLINE_LAMBDA {
      RunCell(ops, Flush::line, cell, memory);
    });
  } else if (ops.size() == 1 && ops[0].write) {
    // A fill streams whatever the policy: nothing of it is read again soon.
    const auto w = memory.Prepare(ops[0]);
    ForCells(order, first, last,
             [&](std::size_t cell) ASSAY_INLINE_LAMBDA { memory.Write(cell, w, true); });
  } else if (ops.size() == 1) {
    const auto r = memory.Prepare(ops[0]);
    ForCells(order, first, last,
             [&](std::size_t cell) ASSAY_INLINE_LAMBDA { memory.Read(cell, r); });
  } else if (ops.size() == 2 && !ops[0].write && ops[1].write) {
    if (flush == Flush::none) {
      read_write(std::false_type());
    } else {
      read_write(std::true_type());
    }
  } else {
    ForCells(order, first, last,
             [&](std::size_t cell) ASSAY_INLINE_LAMBDA { RunCell(ops, flush, cell, memory); });
  }
}

// The element over [first, last). `flush` is not automatic; a batch is `batch_cells` long.
template <class Op, class Memory>
HWY_INLINE void RunElement(Order order, std::span<const Op> ops, Flush flush,
                           std::size_t batch_cells, std::size_t first, std::size_t last,
                           Memory& memory) {
  if (flush != Flush::batch) {
    RunOperations(order, ops, flush, first, last, memory);
    return;
  }
  const std::size_t batches = (last - first + batch_cells - 1) / batch_cells;
  ForCells(order, 0, batches, [&](std::size_t batch) {
    const std::size_t begin = first + batch * batch_cells;
    const std::size_t end = std::min(begin + batch_cells, last);
    std::size_t done = 0;
    for (std::size_t i = 1; i <= ops.size(); ++i) {
      if (i < ops.size() && !cache_hides(ops[i - 1], ops[i])) continue;
      if (done > 0) memory.Flush(begin, end);
      RunOperations(order, ops.subspan(done, i - done), Flush::stream, begin, end, memory);
      done = i;
    }
    memory.Flush(begin, end);
  });
}

#undef ASSAY_INLINE_LAMBDA

}  // namespace assay::probes::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
