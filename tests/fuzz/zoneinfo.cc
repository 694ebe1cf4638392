// probes/memory/frame_coverage.h: /proc/zoneinfo.
#include "probes/memory/frame_coverage.h"
#include "tests/fuzz/fuzz.h"

using assay::fuzz::require;

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto frames = assay::probes::parse_present_frames(assay::fuzz::text_of(data, size));
  require(!frames || (*frames > 0 && *frames <= std::uint64_t{1} << 34), "frames that can be");
  if (frames) assay::fuzz::reached(std::to_string(*frames) + " frames");
  return 0;
}
