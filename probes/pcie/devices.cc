#include "probes/pcie/devices.h"

#include <algorithm>
#include <charconv>

namespace assay::probes {
namespace {

constexpr const char* devices_folder = "/sys/bus/pci/devices";
constexpr std::size_t extended_config_bytes = 4096;

// "0000:01:00.0" -> domain "0000" and bus 1.
std::optional<std::uint8_t> bus_of(const std::string& address) {
  const std::size_t colon = address.find(':');
  unsigned bus = 0;
  if (colon == std::string::npos || colon + 3 > address.size()) return std::nullopt;
  const char* from = address.data() + colon + 1;
  const auto [at, error] = std::from_chars(from, from + 2, bus, 16);
  if (error != std::errc{} || at != from + 2) return std::nullopt;
  return static_cast<std::uint8_t>(bus);
}

std::string domain_of(const std::string& address) {
  return address.substr(0, address.find(':'));
}

}  // namespace

Result<std::vector<PciFunction>> read_pci_functions(const Machine& machine) {
  const auto names = machine.list(devices_folder);
  if (!names) return std::unexpected(names.error());
  std::vector<PciFunction> functions;
  for (const std::string& name : *names) {
    if (auto function = read_pci_function(machine, name)) {
      functions.push_back(std::move(*function));
    }
  }
  return functions;
}

std::optional<PciFunction> read_pci_function(const Machine& machine, const std::string& address) {
  const auto config =
      machine.read(std::string(devices_folder) + "/" + address + "/config", extended_config_bytes);
  if (!config) return std::nullopt;
  const auto* bytes = reinterpret_cast<const std::uint8_t*>(config->data());
  return decode_config_space({bytes, config->size()}, address);
}

const PciFunction* upstream_port(const std::vector<PciFunction>& all, const PciFunction& function) {
  const auto bus = bus_of(function.address);
  if (!bus || *bus == 0) return nullptr;
  const auto found = std::find_if(all.begin(), all.end(), [&](const PciFunction& f) {
    return f.is_bridge && f.secondary_bus == *bus &&
           domain_of(f.address) == domain_of(function.address);
  });
  return found == all.end() ? nullptr : &*found;
}

}  // namespace assay::probes
