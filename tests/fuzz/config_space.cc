// probes/pcie/config_space.h: PCI configuration space as the kernel gives it.
#include "probes/pcie/config_space.h"

#include "tests/fuzz/fuzz.h"

using assay::fuzz::require;

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto function = assay::probes::decode_config_space({data, size}, "0000:01:00.0");
  require(size >= 64 || !function, "fewer than 64 bytes are no function");
  if (!function) return 0;
  require(!(function->link && function->cut), "a link is whole or not there");
  require(!function->link || function->port_type, "a link has a port");
  if (function->link) {
    require(function->link->speed_gts >= 0 && function->link->speed_gts <= 64, "a known speed");
    require(function->link->width >= 0 && function->link->width < 64, "six bits of width");
    // The registers are somewhere in the bytes: LnkCap, and LnkSta six bytes behind it.
    bool there = false;
    for (std::size_t at = 64 + 0xC; at + 8 <= size && !there; at += 4) {
      const std::uint32_t lnkcap = data[at] | data[at + 1] << 8 | data[at + 2] << 16 |
                                   static_cast<std::uint32_t>(data[at + 3]) << 24;
      const unsigned lnksta = data[at + 6] | data[at + 7] << 8;
      there = lnkcap == function->link->lnkcap && lnksta == function->link->lnksta;
    }
    require(there, "a link's registers are in the bytes");
  }
  if (function->slot_power_limit_w) {
    require(*function->slot_power_limit_w >= 0 && *function->slot_power_limit_w <= 325,
            "a power limit that the field can say");
  }
  return 0;
}
