// What `assay diagnose FILE` does instead of a run: read a saved kernel log, or standard input.
#pragma once

#include <CLI/CLI.hpp>

#include "station/commands/instead.h"

namespace assay::station {

// Exit codes: 0 nothing found, 1 findings, 2 the file cannot be read, 130 stopped by a signal,
// after what was found up to there was told.
Instead add_diagnose_options(CLI::App& command);

}  // namespace assay::station
