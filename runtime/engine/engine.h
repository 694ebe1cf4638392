// Generates text, or rather token ids, with a loaded model.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "base/result.h"
#include "base/worker_pool.h"
#include "runtime/device/npu_device.h"
#include "runtime/engine/forward.h"
#include "runtime/model/load.h"

namespace assay::runtime {

struct EngineOptions {
  // Positions that the KV cache holds; 0: as many as the model is made for, which is also the most.
  std::size_t context = 0;
  // Prompt tokens of one forward pass, 1..max_batch. No result depends on it.
  std::size_t prefill_chunk = max_batch;
  // Compute units of the device that work; 0: all of them.
  unsigned units = 0;
};

// Both are called in the thread that calls generate() and may be empty.
struct GenerationCallbacks {
  // `elapsed_ns`: for index 0 from the start of the prefill, for others from the token before.
  std::function<void(std::size_t index, TokenId id, std::int64_t elapsed_ns)> on_token = {};
  // Asked between layers.
  std::function<bool()> cancelled = {};
};

struct Generation {
  std::vector<TokenId> tokens;
  std::int64_t first_token_ns = 0;         // from the start of the prefill to the first id
  std::vector<std::int64_t> per_token_ns;  // each later id, from the one before
  std::size_t prefill_tokens = 0;
  // [computed layer][expert]: tokens, prompt included, that the expert got. Empty when dense. The
  // last id generated is not passed through the model any more.
  std::vector<std::vector<std::uint64_t>> expert_counts;
  std::uint64_t bytes_read_per_token = 0;  // weights, computed from the layout
  std::uint32_t layers_computed = 0;       // fewer than the model has: say so beside the figures
};

// One sequence at a time. Not for several threads at once; two engines need a pool each. Model,
// device and pool must outlive it and stay where they are.
class Engine {
 public:
  // ErrorKind::usage for options out of range, ErrorKind::exhausted when memory is short.
  static Result<Engine> create(const LoadedModel& model, NpuDevice& device, WorkerPool& pool,
                               const EngineOptions& options = {});

  // Starts a new sequence and generates `max_tokens` ids, each the one with the largest logit, of
  // equal ones the lowest. Errors: usage for an empty prompt, max_tokens 0, an id outside the
  // vocabulary, or "context length overflow" when prompt and max_tokens together exceed the
  // context; cancelled when `cancelled` said so.
  Result<Generation> generate(std::span<const TokenId> prompt, std::size_t max_tokens,
                              const GenerationCallbacks& callbacks = {});

  // Starts a new sequence and passes `ids` through the model. The logits of the last one,
  // [vocabulary], are valid until the next call. Errors as for generate().
  Result<std::span<const float>> evaluate(std::span<const TokenId> ids);

  std::size_t context() const { return context_; }

 private:
  Engine(const LoadedModel& model, NpuDevice& device, WorkerPool& pool, std::size_t context,
         const EngineOptions& options);
  Result<> check(std::span<const TokenId> prompt, std::size_t max_tokens) const;
  // Passes `ids`, then lets the device take the time it needs.
  Result<> pass(std::span<const TokenId> ids, bool with_logits, const std::function<bool()>& stop);
  Result<> prefill(std::span<const TokenId> prompt, const std::function<bool()>& stop);

  const LoadedModel* model_;
  NpuDevice* device_;
  std::size_t context_;
  std::size_t prefill_chunk_;
  unsigned units_;
  std::size_t position_ = 0;
  std::unique_ptr<ForwardPass> forward_;
};

}  // namespace assay::runtime
