// The forward pass: up to max_batch tokens that follow each other through all computed layers.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "base/worker_pool.h"
#include "runtime/engine/expert_router.h"
#include "runtime/engine/kv_cache.h"
#include "runtime/kernels/matmul.h"
#include "runtime/model/load.h"
#include "runtime/model/token_id.h"

namespace assay::runtime {

class ForwardPass {
 public:
  // Takes all the memory it will need. `context` positions can be held.
  ForwardPass(const LoadedModel& model, WorkerPool& pool, std::size_t context);

  // `ids` (1..max_batch, each below the vocabulary) take the positions from `position` on; those
  // before it were passed earlier. `stop` is asked between layers; false when it said yes, and
  // what was computed is then incomplete.
  bool run(std::span<const TokenId> ids, std::size_t position, bool with_logits,
           const std::function<bool()>& stop);

  // Of the last token of the last run with logits: [vocabulary].
  std::span<const float> logits() const { return logits_; }

  // Tokens that each expert got since clear_counts(): [computed layers * experts].
  std::span<const std::uint64_t> expert_counts() const { return expert_counts_; }
  void clear_counts();

 private:
  // Rows of F32, each from a multiple of 64 bytes on: a load that crosses two cache lines costs
  // two.
  class Buffer {
   public:
    explicit Buffer(std::size_t width, std::size_t rows = max_batch)
        : lines_((width + 15) / 16), numbers_(rows * lines_) {}
    float* row(std::size_t index) { return numbers_[index * lines_].numbers; }

   private:
    struct Line {
      alignas(64) float numbers[16] = {};
    };
    std::size_t lines_;  // a row
    std::vector<Line> numbers_;
  };

  void attention(const LayerWeights& weights, std::size_t layer);
  void attend_all_heads(std::size_t layer);
  void store_keys_and_values(std::size_t layer);
  void dense_block(const LayerWeights& weights);
  void expert_blocks(const LayerWeights& weights, std::size_t layer);
  void norm_all(const float* gain);
  // A job with all tokens of the batch.
  static void fill_job(MatmulJob& job, const Matrix& matrix, std::size_t batch, Buffer& in,
                       Buffer& out);
  MatmulJob& next_job();
  void multiply_jobs();

  const ModelShape& shape_;
  const ModelWeights& weights_;
  WorkerPool& pool_;
  KvCache cache_;
  std::size_t batch_ = 0;
  std::size_t position_ = 0;

  Buffer stream_;  // the residual stream
  Buffer normed_;
  Buffer query_;     // [max_batch, heads * head_dim]
  Buffer key_;       // [max_batch, kv_heads * head_dim]
  Buffer value_;     // [max_batch, kv_heads * head_dim]
  Buffer attended_;  // [max_batch, heads * head_dim]
  Buffer sine_;      // [max_batch, head_dim / 2]
  Buffer cosine_;    // [max_batch, head_dim / 2]
  Buffer scores_;    // [workers, context]
  Buffer routing_;   // [max_batch, experts]
  // Token t's choice number i is row t * experts_used + i; dense models have one a token.
  Buffer gate_;    // [max_batch * choices, ffn]
  Buffer up_;      // [max_batch * choices, ffn]
  Buffer result_;  // [max_batch * choices, width]
  std::vector<ExpertChoice> choices_;
  std::vector<MatmulJob> jobs_;
  std::size_t job_count_ = 0;
  std::vector<float> logits_;
  std::vector<std::uint64_t> expert_counts_;
};

}  // namespace assay::runtime
