#include "runtime/model/layout.h"

#include <fmt/core.h>

#include <utility>

namespace assay::runtime {
namespace {

std::uint64_t aligned(std::uint64_t bytes) {
  return (bytes + tensor_alignment - 1) / tensor_alignment * tensor_alignment;
}

class Planner {
 public:
  Planner(Layout& layout, std::uint64_t max_chunk_bytes)
      : layout_(layout), max_chunk_bytes_(max_chunk_bytes) {}

  void begin_mapping() {
    layout_.mappings.push_back(
        {0, layout_.shape.is_moe() ? Placement::scattered : Placement::contiguous});
  }

  // Behind what the last mapping holds; in a new one when `may_split` and it would grow too large.
  Result<> place(TensorRole role, std::uint32_t layer, std::uint32_t block, bool may_split) {
    TensorPlace tensor = describe(role);
    tensor.layer = layer;
    tensor.block = block;
    if (tensor.type == TensorType::int4 && tensor.cols % int4_group != 0) {
      return fail(ErrorKind::usage,
                  fmt::format("an int4 matrix needs a multiple of {} columns, not {}", int4_group,
                              tensor.cols),
                  layout_.shape.name);
    }
    tensor.bytes = tensor_bytes(tensor.type, tensor.rows, tensor.cols);
    const std::uint64_t size = aligned(tensor.bytes.total);
    if (layout_.shape.is_moe()) {
      if (may_split && layout_.mappings.back().bytes + size > max_chunk_bytes_) begin_mapping();
      if (layout_.mappings.back().bytes + size > max_chunk_bytes_) {
        return fail(ErrorKind::usage,
                    fmt::format("a chunk of {} bytes is more than the device maps ({})",
                                layout_.mappings.back().bytes + size, max_chunk_bytes_),
                    layout_.shape.name);
      }
    }
    tensor.mapping = static_cast<std::uint32_t>(layout_.mappings.size() - 1);
    tensor.offset = layout_.mappings.back().bytes;
    layout_.mappings.back().bytes += size;
    layout_.tensors.push_back(tensor);
    return {};
  }

 private:
  TensorPlace describe(TensorRole role) const {
    const ModelShape& s = layout_.shape;
    const Precision& p = layout_.precision;
    const auto matrix = [&](TensorType type, std::uint64_t rows, std::uint64_t cols) {
      TensorPlace tensor;
      tensor.role = role;
      tensor.type = type;
      tensor.rows = rows;
      tensor.cols = cols;
      return tensor;
    };
    switch (role) {
      case TensorRole::embedding:
        return matrix(p.embedding, s.vocabulary, s.width);
      case TensorRole::query:
        return matrix(p.attention, s.query_width(), s.width);
      case TensorRole::key:
      case TensorRole::value:
        return matrix(p.attention, s.kv_width(), s.width);
      case TensorRole::output:
        return matrix(p.attention, s.width, s.query_width());
      case TensorRole::router:
        return matrix(TensorType::f32, s.experts, s.width);
      case TensorRole::gate:
      case TensorRole::up:
        return matrix(p.gate_up, s.ffn, s.width);
      case TensorRole::down:
        return matrix(p.down, s.width, s.ffn);
      case TensorRole::head:
        return matrix(p.head, s.vocabulary, s.width);
      case TensorRole::attention_norm:
      case TensorRole::ffn_norm:
      case TensorRole::final_norm:
        break;
    }
    return matrix(TensorType::f32, 1, s.width);
  }

  Layout& layout_;
  std::uint64_t max_chunk_bytes_;
};

constexpr TensorRole attention_roles[] = {
    TensorRole::attention_norm, TensorRole::query,  TensorRole::key,
    TensorRole::value,          TensorRole::output, TensorRole::ffn_norm};
constexpr TensorRole block_roles[] = {TensorRole::gate, TensorRole::up, TensorRole::down};

Result<> place_all(Layout& layout, std::uint64_t max_chunk_bytes) {
  Planner planner(layout, max_chunk_bytes);
  const bool moe = layout.shape.is_moe();
  const auto shared = [&](TensorRole role, std::uint32_t layer) {
    return planner.place(role, layer, 0, moe);
  };
  planner.begin_mapping();
  if (auto done = shared(TensorRole::embedding, no_layer); !done) return done;
  for (std::uint32_t layer = 0; layer < layout.shape.layers; ++layer) {
    for (const TensorRole role : attention_roles) {
      if (auto done = shared(role, layer); !done) return done;
    }
    if (moe) {
      if (auto done = shared(TensorRole::router, layer); !done) return done;
      continue;
    }
    for (const TensorRole role : block_roles) {
      if (auto done = shared(role, layer); !done) return done;
    }
  }
  if (auto done = shared(TensorRole::final_norm, no_layer); !done) return done;
  if (auto done = shared(TensorRole::head, no_layer); !done) return done;
  if (!moe) return {};

  for (std::uint32_t layer = 0; layer < layout.shape.layers; ++layer) {
    for (std::uint32_t expert = 0; expert < layout.shape.experts; ++expert) {
      planner.begin_mapping();
      for (const TensorRole role : block_roles) {
        if (auto done = planner.place(role, layer, expert, false); !done) return done;
      }
    }
  }
  return {};
}

}  // namespace

std::uint64_t Layout::mapped_bytes() const {
  std::uint64_t sum = 0;
  for (const MappingRequest& mapping : mappings) sum += mapping.bytes;
  return sum;
}

std::uint64_t Layout::computed_bytes() const {
  std::uint64_t sum = 0;
  for (const TensorPlace& tensor : tensors) {
    if (computed(tensor)) sum += tensor.bytes.codes + tensor.bytes.scales;
  }
  return sum;
}

std::uint64_t Layout::bytes_read_per_token() const {
  std::uint64_t sum = 0;
  for (const TensorPlace& tensor : tensors) {
    if (!computed(tensor)) continue;
    const std::uint64_t bytes = tensor.bytes.codes + tensor.bytes.scales;
    // Every expert of a layer is as large as the others, so the first ones stand for those used.
    if (tensor.block >= (shape.is_moe() ? shape.experts_used : 1)) continue;
    sum += tensor.role == TensorRole::embedding ? bytes / tensor.rows : bytes;
  }
  return sum;
}

Result<Layout> plan_layout(const ModelShape& shape, const Precision& precision,
                           std::uint32_t layers_computed, std::uint64_t max_chunk_bytes) {
  if (auto valid = validate(shape); !valid) return std::unexpected(valid.error());
  if (layers_computed < 1 || layers_computed > shape.layers) {
    return fail(ErrorKind::usage, fmt::format("{} is not in 1..{}", layers_computed, shape.layers),
                "layers_computed");
  }
  Layout layout;
  layout.shape = shape;
  layout.precision = precision;
  layout.layers_computed = layers_computed;
  if (auto placed = place_all(layout, max_chunk_bytes); !placed) {
    return std::unexpected(placed.error());
  }
  return layout;
}

}  // namespace assay::runtime
