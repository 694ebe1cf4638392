// probes/fragmentation/reservations.h: /proc/iomem.
#include "probes/fragmentation/reservations.h"

#include "tests/fuzz/fuzz.h"

using assay::fuzz::require;

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto ranges = assay::probes::parse_reserved_ranges(assay::fuzz::text_of(data, size));
  if (!ranges) {
    require(ranges.error().where == "/proc/iomem", "an error has a place");
    return 0;
  }
  for (const auto& range : *ranges) {
    require(range.first <= range.last && range.last != 0, "a range has an address");
  }
  assay::fuzz::reached(std::to_string(ranges->size()) + " ranges");
  return 0;
}
