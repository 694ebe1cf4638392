#include "runtime/kernels/vector_ops.h"

#include <cmath>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "runtime/kernels/vector_ops.cc"
#include <hwy/foreach_target.h>
// Behind foreach_target.h: once for each instruction set.
#include <hwy/contrib/math/math-inl.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace assay::runtime {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using F32 = hn::CappedTag<float, 16>;

float SumOfSquares(const float* x, std::size_t count) {
  const F32 d;
  const std::size_t lanes = hn::Lanes(d);
  auto first = hn::Zero(d);
  auto second = hn::Zero(d);
  std::size_t i = 0;
  for (; i + 2 * lanes <= count; i += 2 * lanes) {
    const auto a = hn::LoadU(d, x + i);
    const auto b = hn::LoadU(d, x + i + lanes);
    first = hn::MulAdd(a, a, first);
    second = hn::MulAdd(b, b, second);
  }
  float sum = hn::GetLane(hn::SumOfLanes(d, hn::Add(first, second)));
  for (; i < count; ++i) sum += x[i] * x[i];
  return sum;
}

void Swiglu(float* gate, const float* up, std::size_t count) {
  const F32 d;
  const std::size_t lanes = hn::Lanes(d);
  const auto one = hn::Set(d, 1.0F);
  // Highway's Exp holds up to 104; from here on the sigmoid is 0 for every purpose.
  const auto most = hn::Set(d, 88.0F);
  std::size_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    const auto g = hn::LoadU(d, gate + i);
    const auto divisor = hn::Add(one, hn::Exp(d, hn::Min(hn::Neg(g), most)));
    hn::StoreU(hn::Mul(hn::Div(g, divisor), hn::LoadU(d, up + i)), d, gate + i);
  }
  for (; i < count; ++i) gate[i] = gate[i] / (1.0F + std::exp(-gate[i])) * up[i];
}

// Replaces x by exp(x - largest); returns the sum.
float ExpBelow(float* x, std::size_t count, float largest) {
  const F32 d;
  const std::size_t lanes = hn::Lanes(d);
  const auto top = hn::Set(d, largest);
  auto sums = hn::Zero(d);
  std::size_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    const auto e = hn::Exp(d, hn::Sub(hn::LoadU(d, x + i), top));
    sums = hn::Add(sums, e);
    hn::StoreU(e, d, x + i);
  }
  float sum = hn::GetLane(hn::SumOfLanes(d, sums));
  for (; i < count; ++i) {
    x[i] = std::exp(x[i] - largest);
    sum += x[i];
  }
  return sum;
}

void AddScaled(float* into, const float* x, float factor, std::size_t count) {
  const F32 d;
  const std::size_t lanes = hn::Lanes(d);
  const auto times = hn::Set(d, factor);
  std::size_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    hn::StoreU(hn::MulAdd(times, hn::LoadU(d, x + i), hn::LoadU(d, into + i)), d, into + i);
  }
  for (; i < count; ++i) into[i] += factor * x[i];
}

}  // namespace HWY_NAMESPACE
}  // namespace assay::runtime
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include <algorithm>

namespace assay::runtime {

HWY_EXPORT(SumOfSquares);
HWY_EXPORT(Swiglu);
HWY_EXPORT(ExpBelow);
HWY_EXPORT(AddScaled);

void rms_norm(const float* x, const float* gain, std::size_t count, float eps, float* out) {
  const float mean = HWY_DYNAMIC_DISPATCH(SumOfSquares)(x, count) / static_cast<float>(count);
  const float factor = 1.0F / std::sqrt(mean + eps);
  for (std::size_t i = 0; i < count; ++i) out[i] = x[i] * factor * gain[i];
}

void swiglu(float* gate, const float* up, std::size_t count) {
  HWY_DYNAMIC_DISPATCH(Swiglu)(gate, up, count);
}

void softmax(float* x, std::size_t count) {
  const float largest = *std::max_element(x, x + count);
  const float factor = 1.0F / HWY_DYNAMIC_DISPATCH(ExpBelow)(x, count, largest);
  for (std::size_t i = 0; i < count; ++i) x[i] *= factor;
}

void add_scaled(float* into, const float* x, float factor, std::size_t count) {
  HWY_DYNAMIC_DISPATCH(AddScaled)(into, x, factor, count);
}

void rope_angles(std::size_t position, float theta, std::size_t head_dim, float* sine,
                 float* cosine) {
  for (std::size_t i = 0; i < head_dim / 2; ++i) {
    // In double: a position of many thousands leaves too few bits for the angle in a float.
    const double exponent = -2.0 * static_cast<double>(i) / static_cast<double>(head_dim);
    const double angle = static_cast<double>(position) * std::pow(double{theta}, exponent);
    sine[i] = static_cast<float>(std::sin(angle));
    cosine[i] = static_cast<float>(std::cos(angle));
  }
}

void rope(float* x, std::size_t heads, std::size_t head_dim, const float* sine,
          const float* cosine) {
  const std::size_t half = head_dim / 2;
  for (std::size_t head = 0; head < heads; ++head, x += head_dim) {
    for (std::size_t i = 0; i < half; ++i) {
      const float a = x[i];
      const float b = x[i + half];
      x[i] = a * cosine[i] - b * sine[i];
      x[i + half] = a * sine[i] + b * cosine[i];
    }
  }
}

}  // namespace assay::runtime
#endif
