// memory.test: patterns written to real RAM by all cores and read back.
#pragma once

#include <cstdint>
#include <string>

#include "probes/framework/context.h"

namespace assay::probes {

Probe memory_test_probe();

// "0xAA" (8 bits) to "0xAAAAAAAAAAAAAAAA" (64 bits): 2, 4, 8 or 16 hex digits, repeated to 64 bits.
Result<std::uint64_t> parse_pattern(const std::string& text);

}  // namespace assay::probes
