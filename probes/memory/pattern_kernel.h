// The two loops of a pattern test, as wide as the processor goes (Google Highway, run-time
// dispatch).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace assay::probes {

struct Mismatch {
  std::uint64_t offset = 0;  // of the 64-bit word in the buffer, bytes
  std::uint64_t actual = 0;
};

// Writes `pattern` to every 8 bytes by streaming stores, which do not go through the cache, and
// fences. The buffer is aligned to 64 bytes and a multiple of 64 bytes long.
void fill_pattern(std::span<std::byte> buffer, std::uint64_t pattern);

// Reads all of it; appends up to `max_reported` words that differ and returns how many there are.
std::uint64_t verify_pattern(std::span<const std::byte> buffer, std::uint64_t pattern,
                             std::vector<Mismatch>& mismatches, std::size_t max_reported);

// The name of the instruction set in use: "AVX2".
const char* pattern_kernel_target();

}  // namespace assay::probes
