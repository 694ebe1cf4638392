// probes/pcie/config_space.h: PCI configuration space as the kernel gives it.
#include "probes/pcie/config_space.h"

#include "probes/pcie/register_text.h"
#include "tests/fuzz/fuzz.h"

using assay::fuzz::require;

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto function = assay::probes::decode_config_space({data, size}, "0000:01:00.0");
  require(size >= 64 || !function, "fewer than 64 bytes are no function");
  if (!function) return 0;
  require(function->bytes_read == size, "all bytes count");
  assay::fuzz::reached(std::to_string(function->capabilities.entries.size()) + " capabilities");
  for (const auto* list : {&function->capabilities, &function->extended_list}) {
    for (const auto& capability : list->entries) {
      require(capability.at >= 64 && capability.at + 2 <= size, "a capability is in the bytes");
      require(capability.at % 4 == 0, "a capability is aligned");
    }
  }
  if (const auto* link = function->link()) {
    require(link->speed_gts >= 0 && link->speed_gts <= 64, "a known speed");
    require(link->width >= 0 && link->width < 64, "six bits of width");
    // The registers are somewhere in the bytes: LnkCap, and LnkSta six bytes behind it.
    bool there = false;
    for (std::size_t at = 64 + 0xC; at + 8 <= size && !there; at += 4) {
      const std::uint32_t lnkcap = data[at] | data[at + 1] << 8 | data[at + 2] << 16 |
                                   static_cast<std::uint32_t>(data[at + 3]) << 24;
      const unsigned lnksta = data[at + 6] | data[at + 7] << 8;
      there = lnkcap == link->lnkcap && lnksta == link->lnksta;
    }
    require(there, "a link's registers are in the bytes");
    assay::fuzz::reached("link");
  }
  if (const auto* slot = function->slot(); slot != nullptr && slot->power_limit_w) {
    require(*slot->power_limit_w >= 0 && *slot->power_limit_w <= 325,
            "a power limit that the field can say");
  }
  for (const auto& line : assay::probes::register_texts(*function)) {
    require(!line.name.empty() && !line.text.empty(), "a register has a name and a text");
  }
  return 0;
}
