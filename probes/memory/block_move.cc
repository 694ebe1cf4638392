#include "probes/memory/block_move.h"

namespace assay::probes {

std::array<std::vector<BlockStep>, block_stages> block_move(std::size_t first, std::size_t half) {
  using enum BlockStep::Kind;
  const std::size_t second = first + half;
  const std::size_t last = second + half - 1;
  return {{{{write, first, first, half}},
           {{copy, second, first, half}},
           {{copy, first + 1, second, half - 1}, {copy, first, last, 1}},
           {{verify, second, first, half},
            {verify, first + 1, first, half - 1},
            {verify, first, second - 1, 1}}}};
}

std::size_t block_move_lines(std::size_t half) {
  std::size_t lines = 0;
  for (const auto& stage : block_move(0, half)) {
    for (const BlockStep& step : stage) lines += step.lines_moved();
  }
  return lines;
}

}  // namespace assay::probes
