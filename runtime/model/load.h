// A model in the device's memory, ready to compute with.
#pragma once

#include <cstdint>
#include <vector>

#include "base/cancel.h"
#include "base/result.h"
#include "base/worker_pool.h"
#include "runtime/kernels/matrix.h"
#include "runtime/model/layout.h"
#include "runtime/model/weights.h"

namespace assay::runtime {

struct BlockWeights {
  Matrix gate;
  Matrix up;
  Matrix down;
};

struct LayerWeights {
  const float* attention_norm = nullptr;  // [width]
  Matrix query, key, value, output;
  const float* ffn_norm = nullptr;   // [width]
  Matrix router;                     // MoE alone
  std::vector<BlockWeights> blocks;  // one when dense, else one an expert
};

struct ModelWeights {
  Matrix embedding;
  std::vector<LayerWeights> layers;   // the computed ones
  const float* final_norm = nullptr;  // [width]
  Matrix head;
};

// Owns the mappings; the device must outlive it. Can be moved: the memory stays where it is.
class LoadedModel {
 public:
  LoadedModel(LoadedModel&& other) noexcept;
  LoadedModel& operator=(LoadedModel&&) = delete;
  LoadedModel(const LoadedModel&) = delete;
  LoadedModel& operator=(const LoadedModel&) = delete;
  ~LoadedModel();

  const Layout& layout() const { return layout_; }
  const ModelWeights& weights() const { return weights_; }
  // Physically contiguous pieces that the device made its mappings of.
  std::size_t mapped_blocks() const;

 private:
  friend Result<LoadedModel> load(NpuDevice& device, Layout layout, std::uint64_t seed,
                                  WorkerPool& pool, const CancelToken& cancel,
                                  const FillProgress& progress);
  LoadedModel(NpuDevice& device, Layout layout);
  Matrix matrix(const TensorPlace& tensor) const;
  void find_weights();

  NpuDevice* device_;
  Layout layout_;
  std::vector<Mapping> mappings_;
  ModelWeights weights_;
};

// Maps what the layout asks for, in its order, and fills it with the weights of `seed`. When a
// mapping fails, those before it are released and the device's error is returned as it is; when
// cancelled likewise, with ErrorKind::cancelled. `progress` is that of filling and may be empty.
Result<LoadedModel> load(NpuDevice& device, Layout layout, std::uint64_t seed, WorkerPool& pool,
                         const CancelToken& cancel, const FillProgress& progress);

}  // namespace assay::runtime
