// What a block move does to a block of lines: its first half is written, copied to the second half
// and copied back one line further; then every line is held against what arithmetic says it is, not
// against its twin. Memory is what moves blocks of data, in bursts that no March test makes
// (memtest86's test of the same name).
#pragma once

#include <array>
#include <cstddef>
#include <vector>

namespace assay::probes {

struct BlockStep {
  enum class Kind { write, copy, verify };
  Kind kind;
  std::size_t to;    // the first line written, or verified
  std::size_t from;  // copied from here; of write and verify: the data is that of these lines
  std::size_t count;

  // A copy reads and writes.
  std::size_t lines_moved() const { return kind == Kind::copy ? 2 * count : count; }
};

// Each stage is done over all blocks before the next one begins. Of 2 * half lines from `first` on;
// half is at least 1.
inline constexpr std::size_t block_stages = 4;
std::array<std::vector<BlockStep>, block_stages> block_move(std::size_t first, std::size_t half);
// Of all stages.
std::size_t block_move_lines(std::size_t half);

}  // namespace assay::probes
