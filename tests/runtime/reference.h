// The same arithmetic as the runtime's, written again: naively, in float64, from the formats'
// definitions alone. The tests compare the runtime with it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "runtime/kernels/matrix.h"
#include "runtime/model/load.h"

namespace assay::runtime::reference {

double half(std::uint16_t code);
// NaN for 0x7F and 0xFF.
double fp8_e4m3(std::uint8_t code);

// The weight in row `row` and column `col`.
double weight(const Matrix& matrix, std::size_t row, std::size_t col);

struct Pass {
  std::vector<std::vector<double>> logits;  // of each position
  // The least difference between an expert chosen and one not chosen, as probabilities; 1 when
  // dense. Where it is tiny, rounding may choose otherwise.
  double routing_margin = 1.0;
};

// All of `ids` through the model, without a cache.
Pass forward(const LoadedModel& model, const std::vector<std::uint32_t>& ids);

}  // namespace assay::runtime::reference
