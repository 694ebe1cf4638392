#include "runtime/model/load.h"

#include <utility>

namespace assay::runtime {

LoadedModel::LoadedModel(NpuDevice& device, Layout layout)
    : device_(&device), layout_(std::move(layout)) {}

LoadedModel::LoadedModel(LoadedModel&& other) noexcept
    : device_(other.device_),
      layout_(std::move(other.layout_)),
      mappings_(std::exchange(other.mappings_, {})),
      weights_(std::move(other.weights_)) {}

LoadedModel::~LoadedModel() {
  for (const Mapping& mapping : mappings_) device_->unmap(mapping.id);
}

std::size_t LoadedModel::mapped_blocks() const {
  std::size_t sum = 0;
  for (const Mapping& mapping : mappings_) sum += mapping.blocks;
  return sum;
}

Matrix LoadedModel::matrix(const TensorPlace& tensor) const {
  const std::byte* start = mappings_[tensor.mapping].memory.data() + tensor.offset;
  return {tensor.type, tensor.rows, tensor.cols, start, start + tensor.bytes.scales_offset};
}

void LoadedModel::find_weights() {
  weights_.layers.resize(layout_.layers_computed);
  for (LayerWeights& layer : weights_.layers) layer.blocks.resize(layout_.shape.blocks());
  for (const TensorPlace& tensor : layout_.tensors) {
    if (!layout_.computed(tensor)) continue;
    const Matrix found = matrix(tensor);
    // Norms are F32, and the layout aligns every tensor.
    const auto* numbers = reinterpret_cast<const float*>(found.codes);
    LayerWeights* layer = tensor.layer == no_layer ? nullptr : &weights_.layers[tensor.layer];
    switch (tensor.role) {
      case TensorRole::embedding:
        weights_.embedding = found;
        break;
      case TensorRole::attention_norm:
        layer->attention_norm = numbers;
        break;
      case TensorRole::query:
        layer->query = found;
        break;
      case TensorRole::key:
        layer->key = found;
        break;
      case TensorRole::value:
        layer->value = found;
        break;
      case TensorRole::output:
        layer->output = found;
        break;
      case TensorRole::ffn_norm:
        layer->ffn_norm = numbers;
        break;
      case TensorRole::router:
        layer->router = found;
        break;
      case TensorRole::gate:
        layer->blocks[tensor.block].gate = found;
        break;
      case TensorRole::up:
        layer->blocks[tensor.block].up = found;
        break;
      case TensorRole::down:
        layer->blocks[tensor.block].down = found;
        break;
      case TensorRole::final_norm:
        weights_.final_norm = numbers;
        break;
      case TensorRole::head:
        weights_.head = found;
        break;
    }
  }
}

Result<LoadedModel> load(NpuDevice& device, Layout layout, std::uint64_t seed, WorkerPool& pool,
                         const CancelToken& cancel, const FillProgress& progress) {
  // From here on its destructor releases what was mapped so far.
  LoadedModel model(device, std::move(layout));
  std::vector<std::span<std::byte>> memory;
  model.mappings_.reserve(model.layout_.mappings.size());
  for (const MappingRequest& request : model.layout_.mappings) {
    if (cancel.cancelled()) return fail(ErrorKind::cancelled, "loading the model was cancelled");
    auto mapping = device.map(request.bytes, request.placement);
    if (!mapping) return std::unexpected(mapping.error());
    model.mappings_.push_back(*mapping);
    memory.push_back(mapping->memory);
  }
  if (auto filled = fill_weights(model.layout_, memory, seed, pool, cancel, progress); !filled) {
    return std::unexpected(filled.error());
  }
  model.find_weights();
  return model;
}

}  // namespace assay::runtime
