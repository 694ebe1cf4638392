// The machine's own limits, measured bare: the simplest loops over memory, with no test in them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace assay::bench {

// Streaming stores to every byte. Buffers are aligned to 64 bytes and multiples of 256 bytes.
void bare_fill(std::span<std::byte> buffer, std::uint64_t word);
// Reads every byte; returns the OR of all words, so that nothing is left out.
std::uint64_t bare_read(std::span<const std::byte> buffer);
// Reads each vector and stores another value in its place.
std::uint64_t bare_fused(std::span<std::byte> buffer, std::uint64_t word);

}  // namespace assay::bench
