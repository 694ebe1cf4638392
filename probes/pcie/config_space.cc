#include "probes/pcie/config_space.h"

namespace assay::probes {
namespace {

// Type 0/1 header, section 7.5.1.
constexpr std::size_t vendor_at = 0x00;
constexpr std::size_t device_at = 0x02;
constexpr std::size_t revision_at = 0x08;
constexpr std::size_t class_at = 0x0A;  // subclass, then base class
constexpr std::size_t header_type_at = 0x0E;
constexpr std::size_t secondary_bus_at = 0x19;
constexpr std::size_t subordinate_bus_at = 0x1A;

}  // namespace

std::optional<PciFunction> decode_config_space(std::span<const std::uint8_t> bytes,
                                               std::string address) {
  const ConfigReader config(bytes);
  if (!config.has(0, config_header_bytes) || config.u16(vendor_at) == 0xFFFF) return std::nullopt;
  PciFunction f{.address = std::move(address),
                .vendor = config.u16(vendor_at),
                .device = config.u16(device_at),
                .class_code = config.u16(class_at),
                .revision = config.u8(revision_at),
                .is_bridge = (config.u8(header_type_at) & 0x7F) == 1,
                .bytes_read = config.size()};
  if (f.is_bridge) {
    f.secondary_bus = config.u8(secondary_bus_at);
    f.subordinate_bus = config.u8(subordinate_bus_at);
  }
  f.capabilities = standard_capabilities(config);
  f.cut = f.capabilities.cut;
  if (const auto* c = f.capabilities.find(capability_id::power_management)) {
    f.power = decode_power_management(config, c->at);
    f.cut = f.cut || !f.power;
  }
  if (const auto* c = f.capabilities.find(capability_id::pci_express)) {
    f.express = decode_pci_express(config, c->at);
    f.cut = f.cut || f.express->cut;
    f.extended_list = extended_capabilities(config);
    const bool collects_errors =
        f.express->type == PortType::root_port || f.express->type == PortType::event_collector;
    f.extended = decode_extended_capabilities(
        config, f.extended_list, f.link() != nullptr ? f.link()->max_width : 0, collects_errors);
  }
  return f;
}

}  // namespace assay::probes
