// Where every tensor of a model lies, and which mappings a load asks of the device.
//
// A dense model is one contiguous mapping with all its tensors. A MoE model is scattered mappings:
// the shared tensors in chunks that the device can map, and one mapping for each expert of each
// layer. That is why the second loads on a device that the first does not fit.
#pragma once

#include <cstdint>
#include <vector>

#include "base/result.h"
#include "runtime/device/npu_device.h"
#include "runtime/model/precision.h"
#include "runtime/model/shape.h"

namespace assay::runtime {

enum class TensorRole : std::uint8_t {
  embedding,       // [vocabulary, width]
  attention_norm,  // [1, width]
  query,           // [heads * head_dim, width]
  key,             // [kv_heads * head_dim, width]
  value,           // [kv_heads * head_dim, width]
  output,          // [width, heads * head_dim]
  ffn_norm,        // [1, width]
  router,          // [experts, width], MoE alone
  gate,            // [ffn, width]
  up,              // [ffn, width]
  down,            // [width, ffn]
  final_norm,      // [1, width]
  head,            // [vocabulary, width]
};

inline constexpr std::uint32_t no_layer = 0xFFFF'FFFF;

struct TensorPlace {
  TensorRole role = TensorRole::embedding;
  std::uint32_t layer = no_layer;  // no_layer: embedding, final_norm, head
  std::uint32_t block = 0;         // the expert of gate, up and down; 0 otherwise
  TensorType type = TensorType::f32;
  std::uint64_t rows = 0;
  std::uint64_t cols = 0;
  TensorBytes bytes;
  std::uint32_t mapping = 0;  // index into Layout::mappings
  std::uint64_t offset = 0;   // in that mapping; a multiple of tensor_alignment
};

inline constexpr std::uint64_t tensor_alignment = 64;

struct MappingRequest {
  std::uint64_t bytes = 0;
  Placement placement = Placement::contiguous;
};

struct Layout {
  ModelShape shape;
  Precision precision;
  // Mappings and tensors cover all layers; only these first ones hold weights and take part in the
  // forward pass. A result measured with fewer than shape.layers must say so.
  std::uint32_t layers_computed = 0;
  std::vector<TensorPlace> tensors;
  std::vector<MappingRequest> mappings;

  // True for the tensors that hold weights.
  bool computed(const TensorPlace& tensor) const {
    return tensor.layer == no_layer || tensor.layer < layers_computed;
  }
  // All mappings together; the part of them that holds weights.
  std::uint64_t mapped_bytes() const;
  std::uint64_t computed_bytes() const;
  // Weights that one decoded token reads: the computed layers (of experts those used), the head,
  // one row of the embedding.
  std::uint64_t bytes_read_per_token() const;
};

// `layers_computed` in 1..shape.layers. `max_chunk_bytes` as NpuDevice::max_chunk_bytes(): a tensor
// or an expert of a MoE model that is larger is ErrorKind::usage, and so are a shape that does not
// pass validate() and an int4 matrix whose columns are no multiple of int4_group.
Result<Layout> plan_layout(const ModelShape& shape, const Precision& precision,
                           std::uint32_t layers_computed, std::uint64_t max_chunk_bytes);

}  // namespace assay::runtime
