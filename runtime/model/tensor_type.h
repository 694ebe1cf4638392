// How the numbers of a matrix lie in memory.
//
// A matrix of [rows, cols] is a plane of codes, row after row without gaps, and for some types a
// plane of scales that starts at the next multiple of 64 bytes:
//
//   type      code                                           scale
//   f32       IEEE 754 binary32                              none
//   f16       IEEE 754 binary16                              none
//   fp8_e4m3  OCP 8-bit floating point E4M3 (bias 7, no      F32, one a row
//             infinities, 0x7F and 0xFF are NaN)
//   int8      two's complement                               F32, one a row
//   int4      4 bits, stands for code - 8; 16 bytes hold 32  F16, one for 32 columns of a row
//             columns: byte i has column i in its low half
//             and column i + 16 in its high half
//
// A weight is code x scale. All numbers are little endian.
#pragma once

#include <cstdint>
#include <string_view>

namespace assay::runtime {

enum class TensorType : std::uint8_t { f32, f16, fp8_e4m3, int8, int4 };

// Columns that share one int4 scale; the columns of an int4 matrix are a multiple of it.
inline constexpr std::uint32_t int4_group = 32;

struct TensorBytes {
  std::uint64_t codes = 0;
  std::uint64_t scales_offset = 0;  // from the first code; codes rounded up to 64
  std::uint64_t scales = 0;
  std::uint64_t total = 0;  // without padding behind the last plane
};

TensorBytes tensor_bytes(TensorType type, std::uint64_t rows, std::uint64_t cols);

// Codes of one row. For int4, `cols` is a multiple of int4_group.
std::uint64_t row_code_bytes(TensorType type, std::uint64_t cols);

// "f32", "f16", "fp8", "int8", "int4".
std::string_view name_of(TensorType type);

}  // namespace assay::runtime
