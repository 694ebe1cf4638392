// base/units.h and base/clock.h: sizes, durations and time stamps as people and files write them.
#include "base/units.h"

#include <string>

#include "base/clock.h"
#include "tests/fuzz/fuzz.h"

using assay::fuzz::require;

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto text = assay::fuzz::text_of(data, size);
  if (const auto bytes = assay::parse_size(text)) {
    assay::fuzz::reached("a size");
    require(*bytes < std::uint64_t{1} << 63, "a size fits 63 bits");
    (void)assay::format_gib(*bytes);
    (void)assay::format_gb(*bytes);
  }
  if (const auto ns = assay::parse_duration_ns(text)) {
    assay::fuzz::reached("a duration");
    require(*ns >= 0, "a duration is not negative");
    (void)assay::format_hms(*ns);
    (void)assay::format_seconds(*ns);
  }
  if (const std::int64_t ns = assay::parse_timestamp(std::string(text)); ns >= 0) {
    assay::fuzz::reached("a time stamp");
    require(assay::parse_timestamp(assay::timestamp(ns)) == ns / 1000 * 1000,
            "a time stamp comes back");
  }
  return 0;
}
