#include "probes/pcie/extended_capabilities.h"

#include <algorithm>

namespace assay::probes {
namespace {

constexpr std::size_t aer_bytes = 0x2C;
constexpr std::size_t aer_root_bytes = 0x38;

AdvancedErrorReporting decode_aer(const ConfigReader& config, std::size_t at) {
  AdvancedErrorReporting aer{.uncorrectable_status = config.u32(at + 0x04),
                             .uncorrectable_mask = config.u32(at + 0x08),
                             .uncorrectable_severity = config.u32(at + 0x0C),
                             .correctable_status = config.u32(at + 0x10),
                             .correctable_mask = config.u32(at + 0x14),
                             .control = config.u32(at + 0x18)};
  for (std::size_t i = 0; i < aer.header_log.size(); ++i) {
    aer.header_log[i] = config.u32(at + 0x1C + 4 * i);
  }
  return aer;
}

LaneMargining decode_margining(const ConfigReader& config, std::size_t at, std::size_t lanes) {
  LaneMargining margining{.capabilities = config.u16(at + 0x04), .status = config.u16(at + 0x06)};
  for (std::size_t lane = 0; lane < lanes; ++lane) {
    const std::size_t entry = at + 0x08 + 4 * lane;
    margining.lanes.push_back({config.u16(entry), config.u16(entry + 2)});
  }
  return margining;
}

}  // namespace

ExtendedCapabilities decode_extended_capabilities(const ConfigReader& config,
                                                  const CapabilityList& list, int lanes,
                                                  bool collects_errors) {
  namespace id = extended_capability_id;
  ExtendedCapabilities all;
  all.cut = list.cut;
  const auto lane_count = static_cast<std::size_t>(std::clamp(lanes, 0, 32));
  // Where a capability is, when all of it could be read.
  const auto find = [&](std::uint16_t wanted, std::size_t bytes) -> const Capability* {
    const Capability* capability = list.find(wanted);
    if (capability == nullptr || config.has(capability->at, bytes)) return capability;
    all.cut = true;
    return nullptr;
  };
  if (const auto* c =
          find(id::advanced_error_reporting, collects_errors ? aer_root_bytes : aer_bytes)) {
    all.aer = decode_aer(config, c->at);
    if (collects_errors) {
      all.aer->root = {.command = config.u32(c->at + 0x2C),
                       .status = config.u32(c->at + 0x30),
                       .correctable_source = config.u16(c->at + 0x34),
                       .uncorrectable_source = config.u16(c->at + 0x36)};
    }
  }
  if (const auto* c = find(id::secondary_pci_express, 0x0C)) {
    all.secondary = {.lnkctl3 = config.u32(c->at + 0x04), .lane_errors = config.u32(c->at + 0x08)};
  }
  if (const auto* c = find(id::physical_layer_16gts, 0x1C)) {
    all.physical_16gts = {.status = config.u32(c->at + 0x0C),
                          .local_parity_mismatch = config.u32(c->at + 0x10),
                          .first_retimer_parity_mismatch = config.u32(c->at + 0x14),
                          .second_retimer_parity_mismatch = config.u32(c->at + 0x18)};
  }
  if (const auto* c = find(id::lane_margining, 0x08 + 4 * lane_count)) {
    all.margining = decode_margining(config, c->at, lane_count);
  }
  return all;
}

}  // namespace assay::probes
