// From packed weights to F32 vectors, for one instruction set. No include guard: it is compiled
// once for each.
#include <cstdint>
#include <cstring>

#include <hwy/highway.h>
#include "runtime/kernels/matrix.h"

HWY_BEFORE_NAMESPACE();
namespace assay::runtime {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using F32 = hn::CappedTag<float, 16>;
using I32 = hn::Rebind<std::int32_t, F32>;
using V = hn::Vec<F32>;

// A step is 32 columns: as many as an int4 scale spans, and as many as there are partial sums.
constexpr std::size_t step = 32;
constexpr std::size_t lanes = hn::MaxLanes(F32());
constexpr std::size_t parts = step / lanes;

struct RowPlanes {
  const std::uint8_t* codes;
  const std::uint8_t* scales;  // of the row
};

template <TensorType type>
struct Format;

template <>
struct Format<TensorType::f32> {
  static HWY_INLINE void load(const RowPlanes& row, std::size_t col, V (&w)[parts]) {
    const auto* from = reinterpret_cast<const float*>(row.codes) + col;
    for (std::size_t p = 0; p < parts; ++p) w[p] = hn::LoadU(F32(), from + p * lanes);
  }
  static float row_factor(const RowPlanes&) { return 1.0F; }
};

template <>
struct Format<TensorType::f16> {
  static HWY_INLINE void load(const RowPlanes& row, std::size_t col, V (&w)[parts]) {
    const hn::Rebind<hwy::float16_t, F32> half;
    const auto* from = reinterpret_cast<const hwy::float16_t*>(row.codes) + col;
    for (std::size_t p = 0; p < parts; ++p) {
      w[p] = hn::PromoteTo(F32(), hn::LoadU(half, from + p * lanes));
    }
  }
  static float row_factor(const RowPlanes&) { return 1.0F; }
};

template <>
struct Format<TensorType::fp8_e4m3> {
  // E4M3 is the upper part of a binary16 but for the exponent's bias, 7 in place of 15: shifted
  // into place it reads as the number times 2^-8, subnormal numbers included. Extending the sign
  // leaves a copy of it in the exponent's highest bit, which is to be 0.
  static HWY_INLINE void load(const RowPlanes& row, std::size_t col, V (&w)[parts]) {
    const hn::Rebind<std::int8_t, F32> i8;
    const hn::Rebind<std::int16_t, F32> i16;
    const hn::Rebind<hwy::float16_t, F32> half;
    const auto below_sign = hn::Set(i16, static_cast<std::int16_t>(0xBFFF));
    const auto* from = reinterpret_cast<const std::int8_t*>(row.codes) + col;
    for (std::size_t p = 0; p < parts; ++p) {
      const auto code = hn::PromoteTo(i16, hn::LoadU(i8, from + p * lanes));
      const auto bits = hn::And(hn::ShiftLeft<7>(code), below_sign);
      w[p] = hn::PromoteTo(F32(), hn::BitCast(half, bits));
    }
  }
  static float row_factor(const RowPlanes& row) {
    return *reinterpret_cast<const float*>(row.scales) * 256.0F;
  }
};

template <>
struct Format<TensorType::int8> {
  static HWY_INLINE void load(const RowPlanes& row, std::size_t col, V (&w)[parts]) {
    const hn::Rebind<std::int8_t, F32> i8;
    const auto* from = reinterpret_cast<const std::int8_t*>(row.codes) + col;
    for (std::size_t p = 0; p < parts; ++p) {
      w[p] = hn::ConvertTo(F32(), hn::PromoteTo(I32(), hn::LoadU(i8, from + p * lanes)));
    }
  }
  static float row_factor(const RowPlanes& row) {
    return *reinterpret_cast<const float*>(row.scales);
  }
};

template <>
struct Format<TensorType::int4> {
  // Nothing rounds here: a 4-bit number times an 11-bit one.
  static HWY_INLINE void load(const RowPlanes& row, std::size_t col, V (&w)[parts]) {
    const hn::Rebind<std::uint8_t, F32> u8;
    const hn::CappedTag<float, 1> one;
    const hn::Rebind<hwy::float16_t, decltype(one)> one_half;
    const auto* halves = reinterpret_cast<const hwy::float16_t*>(row.scales) + col / int4_group;
    const V scale = hn::Set(F32(), hn::GetLane(hn::PromoteTo(one, hn::LoadU(one_half, halves))));
    const V offset = hn::Mul(scale, hn::Set(F32(), -8.0F));
    const auto low_bits = hn::Set(I32(), 15);
    const std::uint8_t* from = row.codes + col / 2;
    for (std::size_t p = 0; p < parts / 2; ++p) {
      const auto both = hn::PromoteTo(I32(), hn::LoadU(u8, from + p * lanes));
      const auto low = hn::And(both, low_bits);
      const auto high = hn::ShiftRight<4>(both);
      w[p] = hn::MulAdd(hn::ConvertTo(F32(), low), scale, offset);
      w[p + parts / 2] = hn::MulAdd(hn::ConvertTo(F32(), high), scale, offset);
    }
  }
  static float row_factor(const RowPlanes&) { return 1.0F; }
};

RowPlanes row_planes(const Matrix& m, std::size_t row) {
  const auto* codes = reinterpret_cast<const std::uint8_t*>(m.codes);
  const auto* scales = reinterpret_cast<const std::uint8_t*>(m.scales);
  const std::size_t scale_bytes = m.type == TensorType::int4 ? m.cols / int4_group * 2 : 4;
  return {codes + row * row_code_bytes(m.type, m.cols),
          scales == nullptr ? nullptr : scales + row * scale_bytes};
}

// Copies the columns behind the last whole step, fewer than `step`, zeros behind them. Int4 has
// none.
template <TensorType type>
void load_tail(const RowPlanes& row, std::size_t col, std::size_t count, float* out) {
  alignas(64) std::uint8_t codes[step * sizeof(float)] = {};
  const std::size_t code_bytes = row_code_bytes(type, 1);
  std::memcpy(codes, row.codes + col * code_bytes, count * code_bytes);
  V w[parts];
  Format<type>::load({codes, row.scales}, 0, w);
  for (std::size_t p = 0; p < parts; ++p) hn::StoreU(w[p], F32(), out + p * lanes);
}

template <TensorType type>
void unpack(const RowPlanes& row, std::size_t cols, float* out) {
  const V factor = hn::Set(F32(), Format<type>::row_factor(row));
  const std::size_t whole = cols / step * step;
  for (std::size_t col = 0; col < whole; col += step) {
    V w[parts];
    Format<type>::load(row, col, w);
    for (std::size_t p = 0; p < parts; ++p) {
      hn::StoreU(hn::Mul(w[p], factor), F32(), out + col + p * lanes);
    }
  }
  if constexpr (type != TensorType::int4) {
    float end[step];
    load_tail<type>(row, whole, cols - whole, end);
    for (std::size_t i = whole; i < cols; ++i) out[i] = end[i - whole] * hn::GetLane(factor);
  }
}

void UnpackRow(const Matrix& matrix, std::size_t row, float* out) {
  const RowPlanes planes = row_planes(matrix, row);
  switch (matrix.type) {
    case TensorType::f32:
      return unpack<TensorType::f32>(planes, matrix.cols, out);
    case TensorType::f16:
      return unpack<TensorType::f16>(planes, matrix.cols, out);
    case TensorType::fp8_e4m3:
      return unpack<TensorType::fp8_e4m3>(planes, matrix.cols, out);
    case TensorType::int8:
      return unpack<TensorType::int8>(planes, matrix.cols, out);
    case TensorType::int4:
      return unpack<TensorType::int4>(planes, matrix.cols, out);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace assay::runtime
HWY_AFTER_NAMESPACE();
