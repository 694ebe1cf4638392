// probes/fragmentation/page_types.h: /proc/pagetypeinfo.
#include "probes/fragmentation/page_types.h"

#include "tests/fuzz/fuzz.h"

using assay::fuzz::require;

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto types = assay::probes::parse_page_types(assay::fuzz::text_of(data, size));
  if (!types) {
    require(types.error().where == "/proc/pagetypeinfo", "an error has a place");
    return 0;
  }
  require(!types->free.empty(), "no error, so there is a row");
  for (const auto& row : types->free) {
    require(!row.blocks.empty() && row.blocks.size() <= 64, "1..64 orders");
    require(!row.type.empty() && !row.zone.empty(), "a row has names");
  }
  assay::fuzz::reached(std::to_string(types->free.size()) + " rows, " +
                       std::to_string(types->blocks.size()) + " counts of page blocks");
  return 0;
}
