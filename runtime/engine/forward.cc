#include "runtime/engine/forward.h"

#include <algorithm>

#include "runtime/kernels/attention.h"
#include "runtime/kernels/vector_ops.h"

namespace assay::runtime {
namespace {

std::size_t choices_of(const ModelShape& shape) {
  return shape.is_moe() ? shape.experts_used : 1;
}

}  // namespace

ForwardPass::ForwardPass(const LoadedModel& model, WorkerPool& pool, std::size_t context)
    : shape_(model.layout().shape),
      weights_(model.weights()),
      pool_(pool),
      cache_(shape_, weights_.layers.size(), context),
      stream_(shape_.width),
      normed_(shape_.width),
      query_(shape_.query_width()),
      key_(shape_.kv_width()),
      value_(shape_.kv_width()),
      attended_(shape_.query_width()),
      sine_(shape_.head_dim / 2),
      cosine_(shape_.head_dim / 2),
      scores_(context, pool.size()),
      routing_(shape_.experts),
      gate_(shape_.ffn, max_batch * choices_of(shape_)),
      up_(shape_.ffn, max_batch * choices_of(shape_)),
      result_(shape_.width, max_batch * choices_of(shape_)),
      choices_(max_batch * choices_of(shape_)),
      // Most jobs at once: gate and up of as many experts as a batch can choose; or three of
      // attention.
      jobs_(std::max<std::size_t>(3, 2 * max_batch * choices_of(shape_))),
      logits_(shape_.vocabulary),
      expert_counts_(weights_.layers.size() * shape_.experts) {}

void ForwardPass::clear_counts() {
  std::ranges::fill(expert_counts_, 0);
}

MatmulJob& ForwardPass::next_job() {
  return jobs_[job_count_++];
}

void ForwardPass::multiply_jobs() {
  multiply(pool_, std::span(jobs_).first(job_count_));
  job_count_ = 0;
}

void ForwardPass::fill_job(MatmulJob& job, const Matrix& matrix, std::size_t batch, Buffer& in,
                           Buffer& out) {
  job.matrix = matrix;
  job.batch = batch;
  for (std::size_t t = 0; t < batch; ++t) {
    job.in[t] = in.row(t);
    job.out[t] = out.row(t);
  }
}

void ForwardPass::norm_all(const float* gain) {
  for (std::size_t t = 0; t < batch_; ++t) {
    rms_norm(stream_.row(t), gain, shape_.width, shape_.norm_eps, normed_.row(t));
  }
}

bool ForwardPass::run(std::span<const TokenId> ids, std::size_t position, bool with_logits,
                      const std::function<bool()>& stop) {
  batch_ = ids.size();
  position_ = position;
  for (std::size_t t = 0; t < batch_; ++t) {
    unpack_row(weights_.embedding, ids[t], stream_.row(t));
    rope_angles(position + t, shape_.rope_theta, shape_.head_dim, sine_.row(t), cosine_.row(t));
  }
  for (std::size_t layer = 0; layer < weights_.layers.size(); ++layer) {
    if (stop()) return false;
    const LayerWeights& weights = weights_.layers[layer];
    attention(weights, layer);
    norm_all(weights.ffn_norm);
    if (shape_.is_moe()) {
      expert_blocks(weights, layer);
    } else {
      dense_block(weights);
    }
  }
  if (!with_logits) return true;
  if (stop()) return false;
  float* last = normed_.row(0);
  rms_norm(stream_.row(batch_ - 1), weights_.final_norm, shape_.width, shape_.norm_eps, last);
  MatmulJob& job = next_job();
  job.matrix = weights_.head;
  job.batch = 1;
  job.in[0] = last;
  job.out[0] = logits_.data();
  multiply_jobs();
  return true;
}

void ForwardPass::attention(const LayerWeights& weights, std::size_t layer) {
  norm_all(weights.attention_norm);
  fill_job(next_job(), weights.query, batch_, normed_, query_);
  fill_job(next_job(), weights.key, batch_, normed_, key_);
  fill_job(next_job(), weights.value, batch_, normed_, value_);
  multiply_jobs();
  for (std::size_t t = 0; t < batch_; ++t) {
    rope(query_.row(t), shape_.heads, shape_.head_dim, sine_.row(t), cosine_.row(t));
    rope(key_.row(t), shape_.kv_heads, shape_.head_dim, sine_.row(t), cosine_.row(t));
  }
  store_keys_and_values(layer);
  attend_all_heads(layer);
  fill_job(next_job(), weights.output, batch_, attended_, result_);
  multiply_jobs();
  for (std::size_t t = 0; t < batch_; ++t) {
    add_scaled(stream_.row(t), result_.row(t), 1.0F, shape_.width);
  }
}

void ForwardPass::store_keys_and_values(std::size_t layer) {
  const std::size_t dim = shape_.head_dim;
  for (std::size_t t = 0; t < batch_; ++t) {
    for (std::size_t head = 0; head < shape_.kv_heads; ++head) {
      const std::size_t at = (position_ + t) * dim;
      std::copy_n(key_.row(t) + head * dim, dim, cache_.keys(layer, head) + at);
      std::copy_n(value_.row(t) + head * dim, dim, cache_.values(layer, head) + at);
    }
  }
}

void ForwardPass::attend_all_heads(std::size_t layer) {
  const std::size_t heads = shape_.heads;
  const std::size_t queries_per_key = heads / shape_.kv_heads;
  const auto work = [&](unsigned worker) {
    const Share share = share_of(batch_ * heads, worker, pool_.size());
    for (std::size_t item = share.first; item < share.last; ++item) {
      const std::size_t t = item / heads;
      const std::size_t head = item % heads;
      const std::size_t kv_head = head / queries_per_key;
      attend({.query = query_.row(t) + head * shape_.head_dim,
              .keys = cache_.keys(layer, kv_head),
              .values = cache_.values(layer, kv_head),
              .positions = position_ + t + 1,
              .head_dim = shape_.head_dim},
             scores_.row(worker), attended_.row(t) + head * shape_.head_dim);
    }
  };
  pool_.run(std::ref(work));
}

void ForwardPass::dense_block(const LayerWeights& weights) {
  const BlockWeights& block = weights.blocks[0];
  fill_job(next_job(), block.gate, batch_, normed_, gate_);
  fill_job(next_job(), block.up, batch_, normed_, up_);
  multiply_jobs();
  for (std::size_t t = 0; t < batch_; ++t) swiglu(gate_.row(t), up_.row(t), shape_.ffn);
  fill_job(next_job(), block.down, batch_, gate_, result_);
  multiply_jobs();
  for (std::size_t t = 0; t < batch_; ++t) {
    add_scaled(stream_.row(t), result_.row(t), 1.0F, shape_.width);
  }
}

void ForwardPass::expert_blocks(const LayerWeights& weights, std::size_t layer) {
  const std::size_t used = shape_.experts_used;
  fill_job(next_job(), weights.router, batch_, normed_, routing_);
  multiply_jobs();
  for (std::size_t t = 0; t < batch_; ++t) {
    const auto chosen = std::span(choices_).subspan(t * used, used);
    choose_experts({routing_.row(t), shape_.experts}, chosen);
    for (const ExpertChoice& choice : chosen) {
      ++expert_counts_[layer * shape_.experts + choice.expert];
    }
  }
  const std::size_t rows = batch_ * used;
  const auto choice_of = [&](std::size_t expert, auto&& each) {
    for (std::size_t row = 0; row < rows; ++row) {
      if (choices_[row].expert == expert) each(row);
    }
  };
  // Tokens of the batch that chose the same expert share the reading of its weights.
  for (std::size_t expert = 0; expert < shape_.experts; ++expert) {
    MatmulJob* gate = nullptr;
    MatmulJob* up = nullptr;
    choice_of(expert, [&](std::size_t row) {
      if (gate == nullptr) {
        gate = &next_job();
        up = &next_job();
        *gate = {.matrix = weights.blocks[expert].gate};
        *up = {.matrix = weights.blocks[expert].up};
      }
      gate->in[gate->batch] = up->in[up->batch] = normed_.row(row / used);
      gate->out[gate->batch++] = gate_.row(row);
      up->out[up->batch++] = up_.row(row);
    });
  }
  multiply_jobs();
  for (std::size_t row = 0; row < rows; ++row) swiglu(gate_.row(row), up_.row(row), shape_.ffn);
  for (std::size_t expert = 0; expert < shape_.experts; ++expert) {
    MatmulJob* down = nullptr;
    choice_of(expert, [&](std::size_t row) {
      if (down == nullptr) {
        down = &next_job();
        *down = {.matrix = weights.blocks[expert].down};
      }
      down->in[down->batch] = gate_.row(row);
      down->out[down->batch++] = result_.row(row);
    });
  }
  multiply_jobs();
  for (std::size_t row = 0; row < rows; ++row) {
    add_scaled(stream_.row(row / used), result_.row(row), choices_[row].weight, shape_.width);
  }
}

}  // namespace assay::runtime
