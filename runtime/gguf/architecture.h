// The families of decoders that are read from GGUF files, and in what they differ.
//
// All have RMSNorm before attention and feed-forward block, grouped-query attention with rotary
// positions and SwiGLU. Sources: the GGUF specification's architectures; the configurations of
// Llama and Mixtral, Qwen2, Qwen1.5-MoE, Qwen3 and Qwen3-MoE.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace assay::runtime::gguf {

// Which two elements of a head are turned together by a rotary position.
enum class Rope : std::uint8_t {
  neighbours,  // 2i and 2i + 1: as files of the Llama family are permuted
  halves,      // i and i + head_dim / 2
};

struct Architecture {
  std::string_view name;  // general.architecture
  Rope rope = Rope::neighbours;
  bool qkv_bias = false;       // query, key and value have biases
  bool qk_norm = false;        // each head of query and key passes an RMSNorm
  bool experts = false;        // a feed-forward block may be experts behind a router
  bool needs_experts = false;  // and never is a dense one
  bool shared_expert = false;  // one expert is used by every token, behind a gate of its own
  bool renormalizes = false;   // the weights of the experts used add up to 1
};

// Null for a family that is not read.
const Architecture* find_architecture(std::string_view name);
std::span<const Architecture> architectures();

}  // namespace assay::runtime::gguf
