// What `assay pcie` does instead of a run: decode a saved dump, or train a link again.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <optional>

#include "base/result.h"

namespace assay::station {

// The exit code; nothing when neither was asked for. Called after the command line was parsed.
using Instead = std::function<std::optional<Result<int>>(bool json)>;

Instead add_pcie_options(CLI::App& command);

}  // namespace assay::station
