#include "runtime/model/tensor_type.h"

namespace assay::runtime {

std::uint64_t row_code_bytes(TensorType type, std::uint64_t cols) {
  switch (type) {
    case TensorType::f32:
      return cols * 4;
    case TensorType::f16:
      return cols * 2;
    case TensorType::fp8_e4m3:
    case TensorType::int8:
      return cols;
    case TensorType::int4:
      return cols / 2;
  }
  return 0;
}

TensorBytes tensor_bytes(TensorType type, std::uint64_t rows, std::uint64_t cols) {
  TensorBytes bytes;
  bytes.codes = rows * row_code_bytes(type, cols);
  bytes.scales_offset = (bytes.codes + 63) / 64 * 64;
  switch (type) {
    case TensorType::f32:
    case TensorType::f16:
      break;
    case TensorType::fp8_e4m3:
    case TensorType::int8:
      bytes.scales = rows * 4;
      break;
    case TensorType::int4:
      bytes.scales = rows * (cols / int4_group) * 2;
      break;
  }
  bytes.total = bytes.scales == 0 ? bytes.codes : bytes.scales_offset + bytes.scales;
  return bytes;
}

std::string_view name_of(TensorType type) {
  switch (type) {
    case TensorType::f32:
      return "f32";
    case TensorType::f16:
      return "f16";
    case TensorType::fp8_e4m3:
      return "fp8";
    case TensorType::int8:
      return "int8";
    case TensorType::int4:
      return "int4";
  }
  return "";
}

}  // namespace assay::runtime
