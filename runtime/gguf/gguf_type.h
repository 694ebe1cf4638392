// The tensor types of a GGUF file that this runtime reads, and how many bytes their blocks take.
//
// A row of a tensor is a sequence of blocks, each of `elements` weights in `bytes` bytes; the
// layout of a block is in runtime/quant. Source: the GGUF specification (ggml, docs/gguf.md),
// "ggml_type".
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace assay::runtime {

// The values are the numbers that stand in a file.
enum class GgufType : std::uint32_t {
  f32 = 0,
  f16 = 1,
  q4_0 = 2,
  q4_1 = 3,
  q5_0 = 6,
  q8_0 = 8,
  q4_k = 12,
  q5_k = 13,
  q6_k = 14,
  bf16 = 30,
};

struct GgufBlock {
  std::string_view name;  // as the field writes it: "Q4_K"
  std::uint32_t elements;
  std::uint32_t bytes;
};

GgufBlock block_of(GgufType type);

// Nothing for a number that is not one of the types above.
std::optional<GgufType> gguf_type(std::uint32_t number);

// The name of any type that the specification has ("IQ2_XXS"), also of one that is not read here;
// empty for a number without one. For messages.
std::string_view gguf_type_name(std::uint32_t number);

}  // namespace assay::runtime
