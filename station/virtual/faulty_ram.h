// This machine's RAM with one bit that is stuck at 1.
#pragma once

#include "probes/memory/ram.h"

namespace assay::station {

class StuckBitRam final : public probes::Ram {
 public:
  void settle(std::span<std::byte> region) override {
    // Somewhere inside, not at a border that a test may treat by itself. Bit 2 of the byte: 1 where
    // 0x55 is written and 0 where 0xAA is, so that one of the two patterns alone sees it.
    if (!region.empty()) region[region.size() / 8 * 5 + 3] |= std::byte{0x04};
  }
};

}  // namespace assay::station
