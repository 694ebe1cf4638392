#include "runtime/gguf/gguf_type.h"

#include <array>
#include <utility>

namespace assay::runtime {
namespace {

struct NamedType {
  std::uint32_t number;
  std::string_view name;
};

constexpr std::array unread_types = std::to_array<NamedType>({
    {7, "Q5_1"},    {9, "Q8_1"},     {10, "Q2_K"},  {11, "Q3_K"},   {15, "Q8_K"},  {16, "IQ2_XXS"},
    {17, "IQ2_XS"}, {18, "IQ3_XXS"}, {19, "IQ1_S"}, {20, "IQ4_NL"}, {21, "IQ3_S"}, {22, "IQ2_S"},
    {23, "IQ4_XS"}, {24, "I8"},      {25, "I16"},   {26, "I32"},    {27, "I64"},   {28, "F64"},
    {29, "IQ1_M"},  {34, "TQ1_0"},   {35, "TQ2_0"}, {39, "MXFP4"},
});

}  // namespace

GgufBlock block_of(GgufType type) {
  switch (type) {
    case GgufType::f32:
      return {"F32", 1, 4};
    case GgufType::f16:
      return {"F16", 1, 2};
    case GgufType::bf16:
      return {"BF16", 1, 2};
    case GgufType::q8_0:
      return {"Q8_0", 32, 34};
    case GgufType::q4_0:
      return {"Q4_0", 32, 18};
    case GgufType::q4_1:
      return {"Q4_1", 32, 20};
    case GgufType::q5_0:
      return {"Q5_0", 32, 22};
    case GgufType::q4_k:
      return {"Q4_K", 256, 144};
    case GgufType::q5_k:
      return {"Q5_K", 256, 176};
    case GgufType::q6_k:
      return {"Q6_K", 256, 210};
  }
  std::unreachable();
}

std::optional<GgufType> gguf_type(std::uint32_t number) {
  switch (number) {
    case 0:
    case 1:
    case 2:
    case 3:
    case 6:
    case 8:
    case 12:
    case 13:
    case 14:
    case 30:
      return static_cast<GgufType>(number);
    default:
      return std::nullopt;
  }
}

std::string_view gguf_type_name(std::uint32_t number) {
  if (const auto type = gguf_type(number)) {
    return block_of(*type).name;
  }
  for (const NamedType& type : unread_types) {
    if (type.number == number) {
      return type.name;
    }
  }
  return {};
}

}  // namespace assay::runtime
