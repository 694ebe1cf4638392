// A matrix of weights in packed form, somewhere in mapped memory. Formats: model/tensor_type.h.
#pragma once

#include <cstddef>

#include "runtime/model/tensor_type.h"

namespace assay::runtime {

struct Matrix {
  TensorType type = TensorType::f32;
  std::size_t rows = 0;
  std::size_t cols = 0;
  const std::byte* codes = nullptr;
  const std::byte* scales = nullptr;  // aligned for its type; unused where the type has none
};

}  // namespace assay::runtime
