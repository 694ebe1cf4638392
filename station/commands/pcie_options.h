// What `assay pcie` does instead of a run: decode a saved dump, or train a link again.
#pragma once

#include <CLI/CLI.hpp>

#include "station/commands/instead.h"

namespace assay::station {

Instead add_pcie_options(CLI::App& command);

}  // namespace assay::station
