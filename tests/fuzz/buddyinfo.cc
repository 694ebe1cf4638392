// probes/fragmentation/buddyinfo.h: /proc/buddyinfo.
#include "probes/fragmentation/buddyinfo.h"

#include "tests/fuzz/fuzz.h"

using assay::fuzz::require;

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto info = assay::probes::parse_buddyinfo(assay::fuzz::text_of(data, size));
  if (!info) {
    require(!info.error().what.empty() && info.error().where == "/proc/buddyinfo",
            "an error has a place");
    return 0;
  }
  require(!info->zones.empty(), "no error, so there is a zone");
  assay::fuzz::reached(std::to_string(info->zones.size()) + " zones");
  for (const auto& zone : info->zones) {
    require(!zone.blocks.empty() && zone.blocks.size() <= 64, "1..64 orders");
  }
  double last = 0;
  for (int order = 0; order <= 64; ++order) {
    const double index = info->unusable_index(order);
    require(index >= last && index <= 1, "the index grows with the order, within 0..1");
    last = index;
  }
  require(info->largest_order() >= -1 && info->largest_order() < 64, "an order that was read");
  (void)info->free_bytes(4096);
  return 0;
}
