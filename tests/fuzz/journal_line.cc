// reports/record/event.h: one line of a journal.
#include "reports/record/event.h"
#include "tests/fuzz/fuzz.h"

using assay::fuzz::require;

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto event = assay::reports::parse_line(assay::fuzz::text_of(data, size));
  if (!event) {
    require(!event.error().what.empty(), "an error says what is wrong");
    return 0;
  }
  const std::string line = assay::reports::to_line(*event);
  require(line.find('\n') == line.npos, "an event is one line");
  const auto again = assay::reports::parse_line(line);
  require(again.has_value(), "what was read and written can be read");
  require(assay::reports::to_line(*again) == line, "and is the same line then");
  assay::fuzz::reached("read");
  return 0;
}
