#include "tests/probes/memory/simulated_run.h"

#include <algorithm>

#include "probes/memory/element-inl.h"

namespace assay::test {
namespace {

using probes::Algorithm;
using probes::Element;
using probes::Flush;
using probes::Operation;
using probes::Order;

constexpr std::size_t batch = 2;

struct Trace {
  const Operation& Prepare(const Operation& op) const { return op; }
  void Write(std::size_t cell, const Operation& op, bool) {
    accesses.push_back({cell, true, op.data});
  }
  void Read(std::size_t cell, const Operation& op) { accesses.push_back({cell, false, op.data}); }
  void Flush(std::size_t, std::size_t) {}
  std::vector<Access> accesses;
};

struct FaultyMemory {
  FaultyMemory(const Algorithm& t, const Fault& f, std::size_t n, unsigned initial)
      : test(t), fault(f) {
    for (std::size_t i = 0; i < n; ++i) cells.value.push_back(((initial >> i) & 1) != 0);
    cells.sensed = ((initial >> n) & 1) != 0;
    fault.power_on(cells);
  }
  const Operation& Prepare(const Operation& op) const { return op; }
  void Write(std::size_t cell, const Operation& op, bool) {
    fault.write(cells, cell, value_of(cell, op));
  }
  void Read(std::size_t cell, const Operation& op) {
    cells.sensed = fault.read(cells, cell);
    detected = detected || cells.sensed != value_of(cell, op);
  }
  void Flush(std::size_t, std::size_t) {}

  bool value_of(std::size_t cell, const Operation& op) const {
    return (word_of(test.data[op.data], cell, 0) & 1) != 0;
  }
  const Algorithm& test;
  const Fault& fault;
  Cells cells;
  bool detected = false;
};

bool detected_once(const Algorithm& test, const Fault& fault, std::size_t cells, Flush flush,
                   Order any, unsigned initial) {
  FaultyMemory memory(test, fault, cells, initial);
  for (const Element& element : test.elements) {
    if (element.hold) fault.hold(memory.cells);
    const Order order = element.order == Order::any ? any : element.order;
    const Flush policy = reads_own_writes(element) ? flush : Flush::none;
    probes::HWY_NAMESPACE::RunElement(order, std::span<const Operation>(element.operations), policy,
                                      batch, 0, cells, memory);
  }
  return memory.detected;
}

}  // namespace

std::vector<Access> accesses_of(const Element& element, Order order, Flush flush,
                                std::size_t batch_cells, std::size_t cells) {
  Trace trace;
  probes::HWY_NAMESPACE::RunElement(order, std::span<const Operation>(element.operations), flush,
                                    batch_cells, 0, cells, trace);
  return trace.accesses;
}

bool detects(const Algorithm& test, const Fault& fault, std::size_t cells, Flush flush) {
  for (const Order any : {Order::up, Order::down}) {
    // All contents of the cells, and of the sense amplifier.
    for (unsigned initial = 0; initial < (2U << cells); ++initial) {
      if (!detected_once(test, fault, cells, flush, any, initial)) return false;
    }
  }
  return true;
}

double coverage(const Algorithm& test, const FaultClass& faults, std::size_t cells, Flush flush) {
  const auto found = std::count_if(faults.instances.begin(), faults.instances.end(),
                                   [&](const auto& f) { return detects(test, *f, cells, flush); });
  return 100.0 * static_cast<double>(found) / static_cast<double>(faults.instances.size());
}

}  // namespace assay::test
