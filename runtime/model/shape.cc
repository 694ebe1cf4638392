#include "runtime/model/shape.h"

#include <fmt/core.h>

#include <array>
#include <cmath>

namespace assay::runtime {
namespace {

const std::array<ModelShape, 4>& presets() {
  static const std::array<ModelShape, 4> all = {{
      {.name = "moe-7b-a2.4b",
       .layers = 16,
       .width = 4096,
       .heads = 32,
       .kv_heads = 8,
       .head_dim = 128,
       .ffn = 1664,
       .vocabulary = 128'000,
       .experts = 16,
       .experts_used = 2,
       .context = 16'384},
      {.name = "dense-27b",
       .layers = 64,
       .width = 5120,
       .heads = 40,
       .kv_heads = 8,
       .head_dim = 128,
       .ffn = 22'016,
       .vocabulary = 128'000,
       .context = 16'384},
      {.name = "moe-small",
       .layers = 4,
       .width = 256,
       .heads = 8,
       .kv_heads = 4,
       .head_dim = 32,
       .ffn = 384,
       .vocabulary = 2048,
       .experts = 16,
       .experts_used = 2,
       .context = 2048},
      {.name = "dense-small",
       .layers = 4,
       .width = 256,
       .heads = 8,
       .kv_heads = 4,
       .head_dim = 32,
       .ffn = 1024,
       .vocabulary = 2048,
       .context = 2048},
  }};
  return all;
}

// Weights with `blocks_counted` feed-forward blocks a layer.
std::uint64_t count(const ModelShape& s, std::uint64_t blocks_counted) {
  const std::uint64_t width = s.width;
  const std::uint64_t attention = 2 * width * s.query_width() + 2 * width * s.kv_width();
  const std::uint64_t block = 3 * width * s.ffn;
  const std::uint64_t layer = attention + blocks_counted * block + width * s.experts + 2 * width;
  return s.layers * layer + 2 * width * s.vocabulary + width;
}

}  // namespace

std::uint64_t ModelShape::parameters() const {
  return count(*this, blocks());
}

std::uint64_t ModelShape::active_parameters() const {
  return count(*this, is_moe() ? experts_used : 1);
}

Result<> validate(const ModelShape& shape) {
  struct Range {
    const char* field;
    std::uint32_t value, least, most;
  };
  // The upper bounds keep every product of sizes within 64 bits.
  const Range ranges[] = {
      {"layers", shape.layers, 1, 1024},
      {"width", shape.width, 1, 1 << 20},
      {"heads", shape.heads, 1, 1024},
      {"kv_heads", shape.kv_heads, 1, 1024},
      {"head_dim", shape.head_dim, 2, 1024},
      {"ffn", shape.ffn, 1, 1 << 20},
      {"vocabulary", shape.vocabulary, 1, 1 << 22},
      {"experts", shape.experts, 0, 1024},
      {"experts_used", shape.experts_used, shape.is_moe() ? 1U : 0U, shape.experts},
      {"context", shape.context, 1, 1 << 20},
  };
  for (const Range& r : ranges) {
    if (r.value < r.least || r.value > r.most) {
      return fail(ErrorKind::usage, fmt::format("{} is not in {}..{}", r.value, r.least, r.most),
                  r.field);
    }
  }
  if (shape.heads % shape.kv_heads != 0) {
    return fail(ErrorKind::usage,
                fmt::format("{} does not divide {} heads", shape.kv_heads, shape.heads),
                "kv_heads");
  }
  if (shape.head_dim % 2 != 0) {
    return fail(ErrorKind::usage, fmt::format("{} is odd", shape.head_dim), "head_dim");
  }
  if (!std::isfinite(shape.rope_theta) || shape.rope_theta < 1.0F) {
    return fail(ErrorKind::usage, "not a number from 1 up", "rope_theta");
  }
  if (!std::isfinite(shape.norm_eps) || shape.norm_eps <= 0.0F) {
    return fail(ErrorKind::usage, "not a positive number", "norm_eps");
  }
  return {};
}

Result<ModelShape> find_shape(std::string_view name) {
  std::string known;
  for (const ModelShape& shape : presets()) {
    if (shape.name == name) return shape;
    known += (known.empty() ? "" : ", ") + shape.name;
  }
  return fail(ErrorKind::usage, "no model \"" + std::string(name) + "\"", {}, "known are " + known);
}

std::vector<std::string> shape_names() {
  std::vector<std::string> names;
  for (const ModelShape& shape : presets()) names.push_back(shape.name);
  return names;
}

}  // namespace assay::runtime
