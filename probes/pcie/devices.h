// The PCI functions of a machine, from the bytes of /sys/bus/pci/devices/*/config.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/machine.h"
#include "probes/pcie/config_space.h"

namespace assay::probes {

// Sorted by address. Functions that vanish while they are read are left out. Errors: unavailable
// when the machine has no PCI.
Result<std::vector<PciFunction>> read_pci_functions(const Machine& machine);

// Nothing when it vanished.
std::optional<PciFunction> read_pci_function(const Machine& machine, const std::string& address);

// The port above a function: the bridge whose secondary bus it is on. Null for a root bus.
const PciFunction* upstream_port(const std::vector<PciFunction>& all, const PciFunction& function);

}  // namespace assay::probes
