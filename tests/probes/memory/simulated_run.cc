#include "tests/probes/memory/simulated_run.h"

#include <algorithm>
#include <map>

#include "probes/memory/block_move.h"
#include "probes/memory/element-inl.h"

namespace assay::test {
namespace {

using probes::Algorithm;
using probes::BlockStep;
using probes::Element;
using probes::Flush;
using probes::Operation;
using probes::Order;
using probes::Select;

constexpr std::size_t batch = 2;

struct Trace {
  const Operation& Prepare(const Operation& op) const { return op; }
  void Write(std::size_t cell, const Operation& op, bool) {
    accesses.push_back({cell, Access::Kind::write, op.data});
  }
  void Read(std::size_t cell, const Operation& op) {
    accesses.push_back({cell, Access::Kind::read, op.data});
  }
  void Flush(std::size_t first, std::size_t last) {
    for (std::size_t cell = first; cell < last; ++cell) {
      accesses.push_back({cell, Access::Kind::flush, 0});
    }
  }
  std::vector<Access> accesses;
};

// What a bit of the words is meant to hold: of each data of a test, one bit for each cell.
using Plane = std::vector<unsigned>;

Plane plane_of(const Algorithm& test, unsigned bit, std::size_t cells) {
  Plane plane;
  for (const probes::Background& background : test.data) {
    unsigned values = 0;
    for (std::size_t cell = 0; cell < cells; ++cell) {
      values |= static_cast<unsigned>((word_of(background, cell, 0) >> bit) & 1) << cell;
    }
    plane.push_back(values);
  }
  return plane;
}

// The planes that differ, and how many bits have each.
std::map<Plane, unsigned> planes_of(const Algorithm& test, std::size_t cells) {
  std::map<Plane, unsigned> planes;
  for (unsigned bit = 0; bit < 64; ++bit) ++planes[plane_of(test, bit, cells)];
  return planes;
}

// How a test is run.
struct Way {
  Between between = Between::nothing;
  Flush policy = Flush::none;
  Order any = Order::up;  // that elements without an order go
};

// In the order in which they were used, the latest last: the first one is given up first.
struct Cache {
  struct Line {
    std::size_t cell = 0;
    bool dirty = false;
    bool value = false;
  };
  std::vector<Line> lines;
};

struct FaultyMemory {
  FaultyMemory(const Algorithm& t, const Plane& p, const Fault& f, std::size_t n, unsigned initial,
               Between b)
      : test(t), plane(p), fault(f), between(b) {
    for (std::size_t i = 0; i < n; ++i) cells.value[i] = ((initial >> i) & 1) != 0;
    cells.sensed = ((initial >> n) & 1) != 0;
    fault.power_on(cells);
  }
  const Operation& Prepare(const Operation& op) const { return op; }
  void Write(std::size_t cell, const Operation& op, bool streaming) {
    const bool chosen = cell % 20 == test.data[op.data].offset;
    if (op.select != Select::all && chosen != (op.select == Select::chosen)) return;
    const bool value = value_of(cell, op.data);
    if (between == Between::nothing || streaming) {
      write_back(cell);
      write(cell, value);
      return;
    }
    Cache::Line& line = fetch(cell);
    line.value = value;
    line.dirty = true;
  }
  void Read(std::size_t cell, const Operation& op) {
    if (between == Between::nothing) {
      verify(cell, value_of(cell, op.data));
      return;
    }
    detected = fetch(cell).value != value_of(cell, op.data) || detected;
  }
  void Flush(std::size_t first, std::size_t last) {
    for (std::size_t cell = first; cell < last; ++cell) write_back(cell);
  }

  std::vector<Cache::Line>::iterator find(std::size_t cell) {
    return std::find_if(cache.lines.begin(), cache.lines.end(),
                        [&](const Cache::Line& line) { return line.cell == cell; });
  }
  Cache::Line& fetch(std::size_t cell) {
    const auto known = find(cell);
    if (known == cache.lines.end()) {
      cache.lines.push_back({cell, false, read(cell)});
    } else {
      std::rotate(known, known + 1, cache.lines.end());
    }
    return cache.lines.back();
  }
  void write_back(std::size_t cell) {
    const auto known = find(cell);
    if (known == cache.lines.end()) return;
    const Cache::Line line = *known;
    cache.lines.erase(known);
    if (line.dirty) write(cell, line.value);
  }
  void give_up_all() {
    while (!cache.lines.empty()) write_back(cache.lines.front().cell);
  }
  void write(std::size_t cell, bool value) { fault.write(cells, cell, value); }
  bool read(std::size_t cell) { return cells.sensed = fault.read(cells, cell); }
  void verify(std::size_t cell, bool expected) { detected = (read(cell) != expected) || detected; }
  bool value_of(std::size_t cell, std::size_t data) const {
    return ((plane[data] >> cell) & 1) != 0;
  }
  const Algorithm& test;
  const Plane& plane;
  const Fault& fault;
  Between between;
  Cells cells;
  Cache cache;
  bool detected = false;
};

void move_blocks(FaultyMemory& memory, std::size_t cells) {
  for (const auto& stage : probes::block_move(0, cells / 2)) {
    for (const BlockStep& step : stage) {
      for (std::size_t i = 0; i < step.count; ++i) {
        switch (step.kind) {
          case BlockStep::Kind::write:
            memory.write(step.to + i, memory.value_of(step.from + i, 0));
            break;
          case BlockStep::Kind::copy:
            memory.write(step.to + i, memory.read(step.from + i));
            break;
          case BlockStep::Kind::verify:
            memory.verify(step.to + i, memory.value_of(step.from + i, 0));
            break;
        }
      }
    }
  }
}

void run(FaultyMemory& memory, const Algorithm& test, std::size_t cells, const Way& way) {
  if (test.block_move) move_blocks(memory, cells);
  for (const Element& element : test.elements) {
    if (memory.detected) return;
    if (element.hold) memory.fault.hold(memory.cells);
    const Order order = element.order == Order::any ? way.any : element.order;
    const Flush flush = flush_of(element, way.policy);
    probes::HWY_NAMESPACE::RunElement(order, std::span<const Operation>(element.operations), flush,
                                      batch, 0, cells, memory);
    // What an element left in the cache is gone from it when the next one comes there.
    memory.give_up_all();
  }
}

// Whether the test sees the fault in a bit of that plane whatever the cells held before.
bool sees(const Algorithm& test, const Plane& plane, const Fault& fault, std::size_t cells,
          const Way& way) {
  // All contents of the cells, and of the sense amplifier.
  for (unsigned initial = 0; initial < (2U << cells); ++initial) {
    FaultyMemory memory(test, plane, fault, cells, initial, way.between);
    run(memory, test, cells, way);
    if (!memory.detected) return false;
  }
  return true;
}

// The share of the 64 bits in which the fault is seen; all or nothing where it has them all at
// once.
double share_seen(const Algorithm& test, const std::map<Plane, unsigned>& planes,
                  const Fault& fault, bool whole_words, std::size_t cells, Way way) {
  unsigned seen = 0;
  for (const auto& [plane, bits] : planes) {
    const auto by = [&, &p = plane](Order any) {
      way.any = any;
      return sees(test, p, fault, cells, way);
    };
    if (by(Order::up) && by(Order::down)) seen += bits;
    if (whole_words && seen > 0) return 1;
  }
  return seen / 64.0;
}

}  // namespace

std::vector<Access> accesses_of(const Element& element, Order order, Flush flush,
                                std::size_t batch_cells, std::size_t cells) {
  Trace trace;
  probes::HWY_NAMESPACE::RunElement(order, std::span<const Operation>(element.operations), flush,
                                    batch_cells, 0, cells, trace);
  return trace.accesses;
}

double coverage(const Algorithm& test, const FaultClass& faults, std::size_t cells, Between between,
                Flush policy) {
  const auto planes = planes_of(test, cells);
  double found = 0;
  for (const auto& fault : faults.instances) {
    found += share_seen(test, planes, *fault, faults.whole_words, cells, {between, policy});
  }
  return 100.0 * found / static_cast<double>(faults.instances.size());
}

}  // namespace assay::test
