#include "runtime/kernels/attention.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "runtime/kernels/attention.cc"
#include <hwy/foreach_target.h>
// Behind foreach_target.h: once for each instruction set.
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace assay::runtime {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using F32 = hn::CappedTag<float, 16>;

void Scores(const AttentionHead& head, float factor, float* scores) {
  const F32 d;
  const std::size_t lanes = hn::Lanes(d);
  for (std::size_t position = 0; position < head.positions; ++position) {
    const float* key = head.keys + position * head.head_dim;
    auto first = hn::Zero(d);
    auto second = hn::Zero(d);
    std::size_t i = 0;
    for (; i + 2 * lanes <= head.head_dim; i += 2 * lanes) {
      first = hn::MulAdd(hn::LoadU(d, head.query + i), hn::LoadU(d, key + i), first);
      second =
          hn::MulAdd(hn::LoadU(d, head.query + i + lanes), hn::LoadU(d, key + i + lanes), second);
    }
    float sum = hn::GetLane(hn::SumOfLanes(d, hn::Add(first, second)));
    for (; i < head.head_dim; ++i) sum += head.query[i] * key[i];
    scores[position] = sum * factor;
  }
}

void WeightedSum(const AttentionHead& head, const float* weights, float* out) {
  const F32 d;
  const std::size_t lanes = hn::Lanes(d);
  std::size_t i = 0;
  for (; i + lanes <= head.head_dim; i += lanes) {
    auto sum = hn::Zero(d);
    for (std::size_t position = 0; position < head.positions; ++position) {
      const float* value = head.values + position * head.head_dim + i;
      sum = hn::MulAdd(hn::Set(d, weights[position]), hn::LoadU(d, value), sum);
    }
    hn::StoreU(sum, d, out + i);
  }
  for (; i < head.head_dim; ++i) {
    float sum = 0;
    for (std::size_t position = 0; position < head.positions; ++position) {
      sum += weights[position] * head.values[position * head.head_dim + i];
    }
    out[i] = sum;
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace assay::runtime
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include <cmath>

#include "runtime/kernels/vector_ops.h"

namespace assay::runtime {

HWY_EXPORT(Scores);
HWY_EXPORT(WeightedSum);

void attend(const AttentionHead& head, float* scores, float* out) {
  const float factor = 1.0F / std::sqrt(static_cast<float>(head.head_dim));
  HWY_DYNAMIC_DISPATCH(Scores)(head, factor, scores);
  softmax(scores, head.positions);
  HWY_DYNAMIC_DISPATCH(WeightedSum)(head, scores, out);
}

}  // namespace assay::runtime
#endif
