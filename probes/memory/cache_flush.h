// Lines out of every cache, so that the next read comes from DRAM.
#pragma once

#include <cstddef>

namespace assay::probes {

// Writes back and drops the lines of [data, data + bytes), and waits until that is done.
void flush_from_caches(const std::byte* data, std::size_t bytes);

// Reads two bytes in turn, each time from DRAM.
void read_in_turn(const std::byte* a, const std::byte* b, int turns);

}  // namespace assay::probes
