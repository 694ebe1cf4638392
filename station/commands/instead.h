// What a probe's command does instead of a run, where its options ask for that.
#pragma once

#include <functional>
#include <optional>

#include "base/result.h"

namespace assay::station {

// The exit code; nothing when it was not asked for. Called after the command line was parsed.
using Instead = std::function<std::optional<Result<int>>(bool json)>;

}  // namespace assay::station
