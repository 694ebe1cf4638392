// What happens between the matrices, on F32 vectors, in the caller's thread.
#pragma once

#include <cstddef>

namespace assay::runtime {

// out[i] = x[i] / sqrt(mean(x^2) + eps) * gain[i] (Zhang and Sennrich 2019, "Root mean square layer
// normalization"). `out` may be `x`.
void rms_norm(const float* x, const float* gain, std::size_t count, float eps, float* out);

// gate[i] = gate[i] * sigmoid(gate[i]) * up[i] (Shazeer 2020, "GLU variants improve transformer").
void swiglu(float* gate, const float* up, std::size_t count);

// x becomes exp(x) / sum(exp(x)), the largest taken off first. `count` is at least 1.
void softmax(float* x, std::size_t count);

// into[i] += factor * x[i].
void add_scaled(float* into, const float* x, float factor, std::size_t count);

// Sine and cosine of position * theta^(-2i / head_dim), each [head_dim / 2].
void rope_angles(std::size_t position, float theta, std::size_t head_dim, float* sine,
                 float* cosine);

// Rotary position embedding (Su et al. 2021, "RoFormer") of each of `heads` vectors of head_dim
// numbers. Pairs are (i, i + head_dim / 2), the "NeoX" convention.
void rope(float* x, std::size_t heads, std::size_t head_dim, const float* sine,
          const float* cosine);

}  // namespace assay::runtime
