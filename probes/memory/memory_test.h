// memory.test: real RAM tested by all cores with the tests that algorithm.h lists.
#pragma once

#include "probes/framework/context.h"

namespace assay::probes {

Probe memory_test_probe();

}  // namespace assay::probes
