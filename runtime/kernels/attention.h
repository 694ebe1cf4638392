// Attention of one query head over the positions so far (Vaswani et al. 2017, section 3.2.1), in
// two passes: scores and their softmax, then the weighted sum of values.
#pragma once

#include <cstddef>

namespace assay::runtime {

struct AttentionHead {
  const float* query = nullptr;   // [head_dim]
  const float* keys = nullptr;    // [positions, head_dim]
  const float* values = nullptr;  // [positions, head_dim]
  std::size_t positions = 0;      // at least 1
  std::size_t head_dim = 0;
};

// out[head_dim] = softmax(query . keys / sqrt(head_dim)) . values; `scores` is scratch of
// [positions].
void attend(const AttentionHead& head, float* scores, float* out);

}  // namespace assay::runtime
