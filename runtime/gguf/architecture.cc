#include "runtime/gguf/architecture.h"

#include <algorithm>
#include <array>

namespace assay::runtime::gguf {
namespace {

constexpr std::array all = {
    Architecture{.name = "llama", .experts = true, .renormalizes = true},
    Architecture{.name = "qwen2", .rope = Rope::halves, .qkv_bias = true},
    Architecture{.name = "qwen2moe",
                 .rope = Rope::halves,
                 .qkv_bias = true,
                 .experts = true,
                 .needs_experts = true,
                 .shared_expert = true},
    Architecture{.name = "qwen3", .rope = Rope::halves, .qk_norm = true},
    Architecture{.name = "qwen3moe",
                 .rope = Rope::halves,
                 .qk_norm = true,
                 .experts = true,
                 .needs_experts = true,
                 .renormalizes = true},
};

}  // namespace

const Architecture* find_architecture(std::string_view name) {
  const auto* found = std::ranges::find(all, name, &Architecture::name);
  return found == all.end() ? nullptr : found;
}

std::span<const Architecture> architectures() {
  return all;
}

}  // namespace assay::runtime::gguf
