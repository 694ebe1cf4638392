// pcie.link: every link that the profile names runs at its speed and width. pcie.aer: errors that
// the links report while steps run.
#pragma once

#include "probes/framework/context.h"

namespace assay::probes {

Probe pcie_link_probe();
Probe pcie_aer_probe();

}  // namespace assay::probes
