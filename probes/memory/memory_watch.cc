#include "probes/memory/memory_watch.h"

#include <fmt/core.h>

#include "base/clock.h"
#include "base/units.h"

namespace assay::probes {
namespace {

constexpr std::int64_t look_interval_ns = 200 * ns_per_ms;

}  // namespace

void MemoryWatch::look() {
  if (monotonic_ns() - last_look_ns_ < look_interval_ns || short_) return;
  // Who comes while another one looks need not look too.
  const std::unique_lock alone(looking_, std::try_to_lock);
  if (!alone) return;
  last_look_ns_ = monotonic_ns();
  while (true) {
    const auto usable = ram_.usable();
    if (!usable || *usable >= Ram::least_usable) return;
    if (give_back_ && give_back_()) continue;
    left_ = *usable;
    break;
  }
  short_ = true;
  stop_.cancel();
}

Error MemoryWatch::error(const std::string& when) const {
  return {ErrorKind::exhausted,
          fmt::format("other programs took the machine's memory: {} was left. Stopped {} so that "
                      "the kernel need not kill anything",
                      format_gib(left_), when),
          {},
          "ask for less with --size"};
}

}  // namespace assay::probes
