// Memory tests as data: lists of elements in the notation of March tests (van de Goor 1991). One
// engine runs them on real memory (line_kernel.h) and, in the tests, on a simulated faulty one.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "probes/memory/background.h"

namespace assay::probes {

enum class Order : std::uint8_t {
  any,   // ⇕
  up,    // ⇑
  down,  // ⇓
};

// What makes an operation reach DRAM that a cache would answer, or merge with the one before: see
// cache_hides.
// Each does what those before it do.
enum class Flush : std::uint8_t {
  automatic,  // batch where an element has such operations, else stream where it is of a test that
              // hangs on the order between cells, else none
  none,       // a cache keeps what it likes: fastest
  stream,     // the last write on a cell goes past the caches, before the next cells' operations
  batch,      // the operations before it on 64 lines, a flush of them and a fence, then go on
  line,       // flush and fence on each cell, between its operations and behind them: strict order
};

// Which words of a line an operation touches.
enum class Select : std::uint8_t {
  all,
  chosen,  // those of a modulo-20 background
  others,  // the rest
};

// "auto", "none", "stream", "batch", "line"
const char* to_text(Flush flush);

struct Operation {
  bool write = false;
  std::uint8_t data = 0;  // index in Algorithm::data
  Select select = Select::all;
};

struct Element {
  Order order = Order::any;
  // All of them on one cell, then on the next. At most max_operations.
  std::vector<Operation> operations;
  bool hold = false;  // wait for the hold time before it: bit fade
  // What its test finds of coupling and of the decoder hangs on the order between cells.
  bool ordered = false;
};
inline constexpr std::size_t max_operations = 8;

struct Algorithm {
  std::string name;
  std::vector<Background> data;
  std::vector<Element> elements;
  // What a person is told of it: the March in its notation, or a sentence.
  std::string notation;
  // Of a March test: its elements come once for each; data 2k is a background, 2k + 1 its inverse.
  unsigned backgrounds = 0;
  // Not a list of elements: blocks are copied about and compared with what they must hold.
  bool block_move = false;
  // Nothing but patterns that are the same everywhere or nearly so, written in one order.
  bool fixed_patterns = false;
};

inline constexpr unsigned most_backgrounds = 10;

struct AlgorithmOptions {
  std::uint64_t seed = 1;  // of random data
  // Backgrounds of each March test: 1 (all zeros) to 10. 7 tell any two bits of a word apart; 10
  // any two of a line, which is what real memory is written and read by.
  unsigned backgrounds = most_backgrounds;
};

// By name (see algorithm_names), or a pattern of 8, 16, 32 or 64 bits such as 0xAAAAAAAA; with '~'
// behind it, its complement follows. Errors: usage.
Result<Algorithm> make_algorithm(const std::string& name, const AlgorithmOptions& options = {});

// Every name but the patterns.
std::vector<std::string> algorithm_names();

// "⇕(w0);⇑(r0,w1);⇓(r1,w0)": elements on data 0 (the background) and 1 (inverted). Errors: usage.
Result<std::vector<Element>> parse_march(std::string_view text);
std::string to_notation(const std::vector<Element>& elements);
// Of one element of a test: "⇑(r0,w1)", with the background where there are several.
std::string element_text(const Algorithm& algorithm, std::size_t element);

// What tests cannot find that are nothing but patterns, the same everywhere or nearly so
// (docs/memory-coverage.md); empty when there is another one.
std::string what_is_missed(const std::vector<Algorithm>& tests);

// Whether a cache keeps from DRAM what the second of two operations on one cell does, or what the
// first did: a read is answered by it, and of two writes DRAM sees the last. A write that follows a
// read is written back by itself.
template <class Op>
constexpr bool cache_hides(const Op& before, const Op& after) {
  return before.write || !after.write;
}
// Whether there are two such operations in the element.
bool cache_hides_some(const Element& element);

// What the policy comes to on the element: not automatic, and not batch where there is nothing to
// flush.
Flush flush_of(const Element& element, Flush policy);

}  // namespace assay::probes
