// station/virtual/virtual_spec.h: a virtual board that a person wrote.
#include "station/virtual/virtual_spec.h"

#include "tests/fuzz/located_error.h"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto json =
      assay::station::LocatedJson::parse(assay::fuzz::text_of(data, size), "file.json");
  if (!json) {
    assay::fuzz::require_place(json.error());
    return 0;
  }
  if (const auto parsed = assay::station::parse_virtual_spec(*json); !parsed)
    assay::fuzz::require_place(parsed.error());
  return 0;
}
