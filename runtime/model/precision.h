// Which type each kind of matrix has. Norms and the router are always F32: they are small, and what
// they decide is not to be rounded.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "runtime/model/tensor_type.h"

namespace assay::runtime {

struct Precision {
  std::string name;
  TensorType embedding = TensorType::f16;
  TensorType attention = TensorType::f16;
  TensorType gate_up = TensorType::f16;
  TensorType down = TensorType::f16;
  TensorType head = TensorType::f16;
};

// "f16", "fp8", "mixed-fp8", "int4"; ErrorKind::usage for another name.
Result<Precision> find_precision(std::string_view name);
std::vector<std::string> precision_names();

}  // namespace assay::runtime
