#include "probes/pcie/capability_list.h"

#include <algorithm>

namespace assay::probes {
namespace {

constexpr std::size_t status_at = 0x06;
constexpr unsigned status_capability_list = 1u << 4;
constexpr std::size_t capabilities_pointer_at = 0x34;
constexpr std::size_t standard_bytes = 256;

bool seen(const CapabilityList& list, std::size_t at) {
  return std::any_of(list.entries.begin(), list.entries.end(),
                     [&](const Capability& c) { return c.at == at; });
}

}  // namespace

const Capability* CapabilityList::find(std::uint16_t id) const {
  const auto found =
      std::find_if(entries.begin(), entries.end(), [&](const Capability& c) { return c.id == id; });
  return found == entries.end() ? nullptr : &*found;
}

CapabilityList standard_capabilities(const ConfigReader& config) {
  CapabilityList list;
  if ((config.u16(status_at) & status_capability_list) == 0) return list;
  // The low two bits of a pointer are reserved; below the header's end is no capability.
  for (std::size_t at = config.u8(capabilities_pointer_at) & 0xFCu; at >= config_header_bytes;
       at = config.u8(at + 1) & 0xFCu) {
    if (!config.has(at, 2)) {
      list.cut = true;
      break;
    }
    if (seen(list, at)) {
      list.broken = true;
      break;
    }
    list.entries.push_back({.id = config.u8(at), .at = at});
  }
  return list;
}

CapabilityList extended_capabilities(const ConfigReader& config) {
  CapabilityList list;
  std::size_t at = standard_bytes;
  while (at >= standard_bytes) {
    if (!config.has(at, 4)) {
      list.cut = true;
      break;
    }
    const std::uint32_t header = config.u32(at);
    // A space without extended capabilities begins with an empty entry; all ones: nobody answers.
    if (header == 0 || header == 0xFFFFFFFF) break;
    if (seen(list, at)) {
      list.broken = true;
      break;
    }
    list.entries.push_back({.id = static_cast<std::uint16_t>(header),
                            .version = static_cast<std::uint8_t>(header >> 16 & 0xF),
                            .at = at});
    at = header >> 20 & 0xFFC;
  }
  return list;
}

}  // namespace assay::probes
