#include <fmt/core.h>

#include "runtime/gguf/model.h"

namespace assay::runtime::gguf {
namespace {

using Visit = std::function<Result<>(const Expected&)>;

class Visitor {
 public:
  Visitor(const Model& model, const Visit& visit) : model_(model), visit_(visit) {}

  Result<> run() && {
    const ModelShape& shape = model_.shape;
    matrix("token_embd", shape.width, shape.vocabulary);
    if (model_.rope_factors) vector("rope_freqs.weight", shape.head_dim / 2);
    for (std::uint32_t layer = 0; layer < shape.layers && result_; ++layer) {
      prefix_ = fmt::format("blk.{}.", layer);
      attention();
      vector("ffn_norm.weight", shape.width);
      if (shape.is_moe()) {
        experts();
      } else {
        block("", shape.ffn, 1);
      }
    }
    prefix_.clear();
    vector("output_norm.weight", shape.width);
    if (!model_.tied_head) matrix("output", shape.width, shape.vocabulary);
    return std::move(result_);
  }

 private:
  void matrix(std::string_view name, std::uint64_t cols, std::uint64_t rows,
              std::uint64_t matrices = 1) {
    show({fmt::format("{}{}.weight", prefix_, name), {cols, rows, matrices, 1}, true});
  }
  void vector(std::string_view name, std::uint64_t length) {
    show({fmt::format("{}{}", prefix_, name), {length, 1, 1, 1}, false});
  }
  void show(const Expected& expected) {
    if (result_) result_ = visit_(expected);
  }

  void attention() {
    const ModelShape& shape = model_.shape;
    vector("attn_norm.weight", shape.width);
    matrix("attn_q", shape.width, shape.query_width());
    matrix("attn_k", shape.width, shape.kv_width());
    matrix("attn_v", shape.width, shape.kv_width());
    matrix("attn_output", shape.query_width(), shape.width);
    if (model_.architecture->qkv_bias) {
      vector("attn_q.bias", shape.query_width());
      vector("attn_k.bias", shape.kv_width());
      vector("attn_v.bias", shape.kv_width());
    }
    if (model_.architecture->qk_norm) {
      vector("attn_q_norm.weight", shape.head_dim);
      vector("attn_k_norm.weight", shape.head_dim);
    }
  }

  void block(std::string_view suffix, std::uint64_t ffn, std::uint64_t matrices) {
    const std::uint64_t width = model_.shape.width;
    matrix(fmt::format("ffn_gate{}", suffix), width, ffn, matrices);
    matrix(fmt::format("ffn_up{}", suffix), width, ffn, matrices);
    matrix(fmt::format("ffn_down{}", suffix), ffn, width, matrices);
  }

  void experts() {
    const ModelShape& shape = model_.shape;
    matrix("ffn_gate_inp", shape.width, shape.experts);
    if (model_.split_experts) {
      for (std::uint32_t expert = 0; expert < shape.experts && result_; ++expert) {
        matrix(fmt::format("ffn_gate.{}", expert), shape.width, shape.ffn);
        matrix(fmt::format("ffn_up.{}", expert), shape.width, shape.ffn);
        matrix(fmt::format("ffn_down.{}", expert), shape.ffn, shape.width);
      }
    } else {
      block("_exps", shape.ffn, shape.experts);
    }
    if (model_.shared_ffn != 0) {
      vector("ffn_gate_inp_shexp.weight", shape.width);
      block("_shexp", model_.shared_ffn, 1);
    }
  }

  const Model& model_;
  const Visit& visit_;
  std::string prefix_;  // of the layer
  Result<> result_;
};

}  // namespace

Result<> visit_expected(const Model& model, const std::function<Result<>(const Expected&)>& visit) {
  return Visitor(model, visit).run();
}

}  // namespace assay::runtime::gguf
