// Lines out of every cache, so that the next read comes from DRAM.
#pragma once

#include <cstddef>

namespace assay::probes {

// Writes back and drops the lines of [data, data + bytes), and waits until that is done.
void flush_from_caches(const std::byte* data, std::size_t bytes);

}  // namespace assay::probes
