// A memory of a few one-bit cells with one fault, for measuring what a test finds. The fault models
// are the functional ones of van de Goor (Testing Semiconductor Memories, 1991) and, for the static
// ones of March SS, of Hamdioui, van de Goor and Rodgers (2002).
#pragma once

#include <array>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace assay::test {

inline constexpr std::size_t most_cells = 8;

struct Cells {
  std::array<bool, most_cells> value{};
  bool sensed = false;  // what the sense amplifier gave last
};

// How a faulty memory differs from a good one. Without overrides it is a good one.
class Fault {
 public:
  virtual ~Fault() = default;
  // The cells have some values at power-on, as far as the fault lets them.
  virtual void power_on(Cells&) const {}
  virtual void write(Cells& cells, std::size_t cell, bool value) const {
    cells.value[cell] = value;
  }
  // What comes out; the sense amplifier keeps it.
  virtual bool read(Cells& cells, std::size_t cell) const { return cells.value[cell]; }
  // Nothing is done for longer than a refresh interval should be.
  virtual void hold(Cells&) const {}
};

// All instances of one kind of fault in an array: every cell, every pair, every polarity.
struct FaultClass {
  std::string name;          // "CFid"
  std::string title;         // "idempotent coupling"
  bool whole_words = false;  // the same in every bit of the words
  std::vector<std::unique_ptr<Fault>> instances;
};

// At most most_cells of them.
std::vector<FaultClass> fault_classes(std::size_t cells);
const FaultClass& fault_class(const std::vector<FaultClass>& classes, const std::string& name);

}  // namespace assay::test
