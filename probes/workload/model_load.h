// Loading a model the way an application does: try, and when the mapping is refused, flush and
// defragment the pool and try once more.
#pragma once

#include <cstdint>
#include <optional>

#include "probes/framework/context.h"
#include "runtime/model/load.h"

namespace assay::probes {

// Nothing inside the result: the board could not map the model, and the finding is recorded.
Result<std::optional<runtime::LoadedModel>> load_model(StepContext& context, runtime::Layout layout,
                                                       std::uint64_t seed);

}  // namespace assay::probes
