// Small models of each family as their files have them, written out by hand.
#pragma once

#include <string>
#include <string_view>

#include "tests/runtime/gguf/gguf_bytes.h"

namespace assay::test {

// The sizes of all of them; experts where the family has any.
struct FileSizes {
  std::uint32_t layers = 2;
  std::uint32_t width = 32;
  std::uint32_t heads = 4;
  std::uint32_t kv_heads = 2;
  std::uint32_t head_dim = 8;
  std::uint32_t ffn = 48;
  std::uint32_t expert_ffn = 16;
  std::uint32_t shared_ffn = 24;
  std::uint32_t vocabulary = 40;
  std::uint32_t experts = 4;
  std::uint32_t experts_used = 2;
};

enum class FileKind { llama, mixtral, mixtral_split, qwen2, qwen2moe, qwen3, qwen3moe };

class ModelFile {
 public:
  GgufBytes bytes;

  ModelFile(FileKind kind, const FileSizes& sizes) : kind_(kind), sizes_(sizes) {
    metadata();
    const std::uint64_t width = sizes.width;
    tensor("token_embd.weight", {width, sizes.vocabulary});
    for (std::uint32_t i = 0; i < sizes.layers; ++i) layer("blk." + std::to_string(i) + ".");
    tensor("output_norm.weight", {width});
    if (kind != FileKind::qwen2) tensor("output.weight", {width, sizes.vocabulary});
  }

  bool has_experts() const {
    return kind_ != FileKind::llama && !is(FileKind::qwen2, FileKind::qwen3);
  }

 private:
  bool is(FileKind one, FileKind other) const { return kind_ == one || kind_ == other; }
  bool is_llama() const {
    return kind_ == FileKind::llama || is(FileKind::mixtral, FileKind::mixtral_split);
  }

  std::string architecture() const {
    switch (kind_) {
      case FileKind::qwen2:
        return "qwen2";
      case FileKind::qwen2moe:
        return "qwen2moe";
      case FileKind::qwen3:
        return "qwen3";
      case FileKind::qwen3moe:
        return "qwen3moe";
      default:
        return "llama";
    }
  }

  void metadata() {
    const std::string prefix = architecture() + ".";
    bytes.text("general.architecture", architecture());
    bytes.text("general.name", "small");
    bytes.u32(prefix + "block_count", sizes_.layers);
    bytes.u32(prefix + "embedding_length", sizes_.width);
    bytes.u32(prefix + "context_length", 64);
    bytes.u32(prefix + "feed_forward_length", sizes_.ffn);
    bytes.u32(prefix + "attention.head_count", sizes_.heads);
    bytes.u32(prefix + "attention.head_count_kv", sizes_.kv_heads);
    bytes.f32(prefix + "attention.layer_norm_rms_epsilon", 1e-6F);
    bytes.f32(prefix + "rope.freq_base", 1e6F);
    if (is(FileKind::qwen3, FileKind::qwen3moe)) {
      bytes.u32(prefix + "attention.key_length", sizes_.head_dim);
      bytes.u32(prefix + "attention.value_length", sizes_.head_dim);
    }
    if (!has_experts()) return;
    bytes.u32(prefix + "expert_count", sizes_.experts);
    bytes.u32(prefix + "expert_used_count", sizes_.experts_used);
    if (is(FileKind::qwen2moe, FileKind::qwen3moe)) {
      bytes.u32(prefix + "expert_feed_forward_length", sizes_.expert_ffn);
    }
    if (kind_ == FileKind::qwen2moe) {
      bytes.u32(prefix + "expert_shared_feed_forward_length", sizes_.shared_ffn);
    }
  }

  void layer(const std::string& in) {
    const std::uint64_t width = sizes_.width;
    const std::uint64_t query = std::uint64_t{sizes_.heads} * sizes_.head_dim;
    const std::uint64_t kv = std::uint64_t{sizes_.kv_heads} * sizes_.head_dim;
    tensor(in + "attn_norm.weight", {width});
    tensor(in + "attn_q.weight", {width, query});
    tensor(in + "attn_k.weight", {width, kv});
    tensor(in + "attn_v.weight", {width, kv});
    tensor(in + "attn_output.weight", {query, width});
    if (is(FileKind::qwen2, FileKind::qwen2moe)) {
      tensor(in + "attn_q.bias", {query});
      tensor(in + "attn_k.bias", {kv});
      tensor(in + "attn_v.bias", {kv});
    }
    if (is(FileKind::qwen3, FileKind::qwen3moe)) {
      tensor(in + "attn_q_norm.weight", {sizes_.head_dim});
      tensor(in + "attn_k_norm.weight", {sizes_.head_dim});
    }
    tensor(in + "ffn_norm.weight", {width});
    if (has_experts()) {
      experts(in);
    } else {
      tensor(in + "ffn_gate.weight", {width, sizes_.ffn});
      tensor(in + "ffn_up.weight", {width, sizes_.ffn});
      tensor(in + "ffn_down.weight", {sizes_.ffn, width});
    }
  }

  void experts(const std::string& in) {
    const std::uint64_t width = sizes_.width;
    const std::uint64_t ffn = is_llama() ? sizes_.ffn : sizes_.expert_ffn;
    const std::uint64_t count = sizes_.experts;
    tensor(in + "ffn_gate_inp.weight", {width, count});
    if (kind_ == FileKind::mixtral_split) {
      for (std::uint64_t i = 0; i < count; ++i) {
        const std::string number = std::to_string(i);
        tensor(in + "ffn_gate." + number + ".weight", {width, ffn});
        tensor(in + "ffn_up." + number + ".weight", {width, ffn});
        tensor(in + "ffn_down." + number + ".weight", {ffn, width});
      }
      return;
    }
    tensor(in + "ffn_gate_exps.weight", {width, ffn, count});
    tensor(in + "ffn_up_exps.weight", {width, ffn, count});
    tensor(in + "ffn_down_exps.weight", {ffn, width, count});
    if (kind_ != FileKind::qwen2moe) return;
    tensor(in + "ffn_gate_inp_shexp.weight", {width});
    tensor(in + "ffn_gate_shexp.weight", {width, sizes_.shared_ffn});
    tensor(in + "ffn_up_shexp.weight", {width, sizes_.shared_ffn});
    tensor(in + "ffn_down_shexp.weight", {sizes_.shared_ffn, width});
  }

  void tensor(std::string name, std::vector<std::uint64_t> dims) {
    bytes.f32_tensor(std::move(name), std::move(dims));
  }

  FileKind kind_;
  FileSizes sizes_;
};

}  // namespace assay::test
