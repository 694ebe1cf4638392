// Registers as text, in the notation that everyone knows from lspci -vv: a flag is "SlotClk+" when
// its bit is set and "SlotClk-" when not.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "probes/pcie/config_space.h"

namespace assay::probes {

struct RegisterText {
  std::string name;  // "LnkSta"
  std::uint32_t value = 0;
  std::string text;  // "Speed 8GT/s, Width x4, TrErr- Train- SlotClk+ ..."
};

// What was decoded of a function, in the order of its registers.
std::vector<RegisterText> register_texts(const PciFunction& function);

// "8GT/s"; "unknown" for 0.
std::string speed_text(double speed_gts);

}  // namespace assay::probes
