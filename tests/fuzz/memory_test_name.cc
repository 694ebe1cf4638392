// probes/memory/algorithm.h: the name of a test, and March tests in their notation.
#include <string>

#include "probes/memory/algorithm.h"
#include "tests/fuzz/fuzz.h"

using assay::fuzz::require;
using namespace assay::probes;

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(assay::fuzz::text_of(data, size));
  if (const auto test = make_algorithm(text)) {
    assay::fuzz::reached("a test");
    require(test->block_move || !test->elements.empty(), "a test does something");
    int held = -1;
    for (const Element& element : test->elements) {
      require(element.operations.size() <= max_operations, "an element has an end");
      for (const Operation& op : element.operations) {
        require(op.data < test->data.size(), "an operation has its data");
        require(op.write || op.data == held, "a read expects what was written last");
        if (op.write) held = op.data;
      }
    }
  } else {
    require(!test.error().what.empty() && test.error().what.size() < 200, "a short reason");
  }
  if (const auto elements = parse_march(text)) {
    assay::fuzz::reached("a notation");
    // Long ones are cut off with dots.
    if (elements->size() <= 12) require(to_notation(*elements) == text, "the notation comes back");
  }
  return 0;
}
