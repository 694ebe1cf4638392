// The sizes of a decoder-only transformer: RMSNorm, grouped-query attention with rotary positions,
// SwiGLU feed-forward blocks (one a layer, or several experts behind a router), an output head of
// its own. This is the Llama and Mixtral family (Touvron et al. 2023; Jiang et al. 2024).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace assay::runtime {

struct ModelShape {
  std::string name;
  std::uint32_t layers = 0;
  std::uint32_t width = 0;  // of the residual stream
  std::uint32_t heads = 0;
  std::uint32_t kv_heads = 0;  // divides heads
  std::uint32_t head_dim = 0;  // even
  std::uint32_t ffn = 0;       // hidden width of the feed-forward block, or of one expert
  std::uint32_t vocabulary = 0;
  std::uint32_t experts = 0;       // 0: dense
  std::uint32_t experts_used = 0;  // a token; 0 when dense
  std::uint32_t context = 0;       // positions that it is made for
  float rope_theta = 10'000.0F;
  float norm_eps = 1e-5F;

  bool is_moe() const { return experts != 0; }
  std::uint32_t query_width() const { return heads * head_dim; }
  std::uint32_t kv_width() const { return kv_heads * head_dim; }
  // Feed-forward blocks that a layer has.
  std::uint32_t blocks() const { return is_moe() ? experts : 1; }

  // Weights in all; and those that one token is multiplied with, the embedding table included as
  // the trade counts it.
  std::uint64_t parameters() const;
  std::uint64_t active_parameters() const;
};

// ErrorKind::usage, with the field that is wrong in `where`.
Result<> validate(const ModelShape& shape);

// "moe-7b-a2.4b", "dense-27b", "moe-small", "dense-small"; ErrorKind::usage for another name.
Result<ModelShape> find_shape(std::string_view name);
std::vector<std::string> shape_names();

}  // namespace assay::runtime
