// One memory test from taking the memory to the report: iterations, errors as they are found,
// progress, and a watch on what the rest of the machine has left.
#pragma once

#include <cstdint>

#include "probes/framework/context.h"
#include "probes/memory/memory_options.h"

namespace assay::probes {

// Errors: exhausted when the memory cannot be had or others come to need it; cancelled.
Result<> run_memory_session(StepContext& context, MemoryOptions options, std::uint64_t size);

}  // namespace assay::probes
