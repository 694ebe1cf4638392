#include "runtime/gguf/model.h"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <optional>
#include <set>
#include <string>

namespace assay::runtime::gguf {
namespace {

std::unexpected<Error> wrong(std::string what) {
  return fail(ErrorKind::bad_file, std::move(what));
}

// Reads the keys of one architecture ("llama.block_count") and keeps the first error.
class Keys {
 public:
  Keys(const Index& index, std::string_view architecture)
      : index_(index), architecture_(architecture) {}

  const std::optional<Error>& error() const { return error_; }

  const Value* find(std::string_view key) const { return index_.find(full(key)); }

  std::optional<std::uint32_t> whole(std::string_view key) {
    const Value* value = find(key);
    if (value == nullptr) return std::nullopt;
    const auto number = value->unsigned_integer();
    if (number && *number <= std::numeric_limits<std::uint32_t>::max()) {
      return static_cast<std::uint32_t>(*number);
    }
    refuse(key, *value, "a whole number of 32 bits");
    return std::nullopt;
  }
  std::uint32_t needed(std::string_view key) {
    must_have(key);
    return whole(key).value_or(0);
  }
  void must_have(std::string_view key) {
    if (find(key) != nullptr || error_) return;
    error_ = wrong(fmt::format("{} is missing", full(key))).error();
  }

  // `fallback` where the key is not there.
  float real(std::string_view key, float fallback) {
    const Value* value = find(key);
    if (value == nullptr) return fallback;
    if (const auto number = value->number()) return static_cast<float>(*number);
    refuse(key, *value, "a number");
    return fallback;
  }

 private:
  std::string full(std::string_view key) const { return fmt::format("{}.{}", architecture_, key); }
  void refuse(std::string_view key, const Value& value, std::string_view wanted) {
    if (error_) return;
    error_ = wrong(fmt::format("{} is {}, and not {}", full(key), value.shown(), wanted)).error();
  }

  const Index& index_;
  std::string_view architecture_;
  std::optional<Error> error_;
};

Result<const Architecture*> architecture_of(const Index& index) {
  const Value* value = index.find("general.architecture");
  if (value == nullptr) return wrong("general.architecture is missing");
  if (const auto name = value->text()) {
    if (const Architecture* found = find_architecture(*name)) return found;
  }
  std::string known;
  for (const Architecture& each : architectures()) {
    known += (known.empty() ? "" : ", ") + std::string(each.name);
  }
  return fail(ErrorKind::bad_file,
              fmt::format("general.architecture is {}, which is not read", value->shown()), {},
              "architectures that are read: " + known);
}

Result<std::uint32_t> vocabulary_of(const Index& index) {
  const Tensor* embedding = index.tensor("token_embd.weight");
  if (embedding == nullptr) return wrong("token_embd.weight is missing");
  if (embedding->dims[1] > std::numeric_limits<std::uint32_t>::max()) {
    return wrong(fmt::format("token_embd.weight has {} rows", embedding->dims[1]));
  }
  const Value* tokens = index.find("tokenizer.ggml.tokens");
  if (tokens != nullptr && tokens->count != embedding->dims[1]) {
    return wrong(fmt::format("tokenizer.ggml.tokens has {}, and token_embd.weight {} rows",
                             tokens->shown(), embedding->dims[1]));
  }
  return static_cast<std::uint32_t>(embedding->dims[1]);
}

void read_experts(Keys& keys, Model& model) {
  ModelShape& shape = model.shape;
  const Architecture& family = *model.architecture;
  shape.experts = keys.whole("expert_count").value_or(0);
  if (family.needs_experts) shape.experts = keys.needed("expert_count");
  if (!shape.is_moe()) return;
  shape.experts_used = keys.needed("expert_used_count");
  const std::uint32_t all_used = shape.ffn;
  if (const auto ffn = keys.whole("expert_feed_forward_length")) {
    shape.ffn = *ffn;
  } else if (family.shared_expert && shape.experts_used != 0) {
    // Files from before that key: the width was that of all the experts used.
    shape.ffn = all_used / shape.experts_used;
  }
  if (family.shared_expert) {
    model.shared_ffn = keys.whole("expert_shared_feed_forward_length").value_or(all_used);
  }
}

// Key and value heads must be as wide as each other, and turned whole.
Result<> read_head_dim(Keys& keys, ModelShape& shape) {
  const std::uint32_t split = shape.heads == 0 ? 0 : shape.width / shape.heads;
  shape.head_dim = keys.whole("attention.key_length").value_or(split);
  const auto value = keys.whole("attention.value_length");
  if (value.value_or(shape.head_dim) != shape.head_dim) {
    return wrong(
        fmt::format("attention.key_length is {} and attention.value_length {}; equal ones "
                    "are read",
                    shape.head_dim, *value));
  }
  const auto turned = keys.whole("rope.dimension_count");
  if (turned.value_or(shape.head_dim) != shape.head_dim) {
    return wrong(fmt::format("rope.dimension_count is {}; the whole head, {}, is read", *turned,
                             shape.head_dim));
  }
  return {};
}

Result<> read_rope_scaling(Keys& keys, Model& model) {
  const Value* type = keys.find("rope.scaling.type");
  const std::string_view name = type == nullptr ? "none" : type->text().value_or("");
  if (name == "linear") {
    model.rope_scale = keys.real("rope.scaling.factor", 1.0F);
  } else if (name != "none") {
    return wrong(
        fmt::format("rope.scaling.type is {}; \"none\" and \"linear\" are read", type->shown()));
  }
  if (!(model.rope_scale >= 1.0F && model.rope_scale <= 1e6F)) {
    return wrong(fmt::format("rope.scaling.factor is {}", model.rope_scale));
  }
  return {};
}

// What attention sees of the past at most is all that may be kept.
void read_window(Keys& keys, ModelShape& shape) {
  const auto window = keys.whole("attention.sliding_window");
  if (window.value_or(0) != 0) shape.context = std::min(shape.context, *window);
}

std::string dims_of(const std::array<std::uint64_t, 4>& dims) {
  return fmt::format("{}", fmt::join(dims, " x "));
}

Result<> hold_against(const Expected& expected, const Index& index) {
  const Tensor* tensor = index.tensor(expected.name);
  if (tensor == nullptr) return wrong(fmt::format("{} is missing", expected.name));
  if (tensor->dims != expected.dims) {
    return wrong(fmt::format("{} is {}, and the sizes in the metadata make it {}", expected.name,
                             dims_of(tensor->dims), dims_of(expected.dims)));
  }
  if (!expected.is_matrix && tensor->type != GgufType::f32) {
    return wrong(
        fmt::format("{} is {}, and F32 is read", expected.name, block_of(tensor->type).name));
  }
  return {};
}

Result<> hold_against_sizes(const Index& index, const Model& model) {
  std::set<std::string, std::less<>> names;
  auto held = visit_expected(model, [&](const Expected& expected) {
    auto right = hold_against(expected, index);
    if (right) names.insert(expected.name);
    return right;
  });
  if (!held) return held;
  // One that the family is not known to have takes part in what the model computes.
  for (const Tensor& tensor : index.tensors()) {
    if (!names.contains(tensor.name)) {
      return wrong(fmt::format("{} is a tensor that a {} model of these sizes does not have",
                               tensor.name, model.architecture->name));
    }
  }
  return {};
}

}  // namespace

Result<Model> read_model(const Index& index) {
  const auto architecture = architecture_of(index);
  if (!architecture) return std::unexpected(architecture.error());
  Model model;
  model.architecture = *architecture;
  ModelShape& shape = model.shape;
  const auto vocabulary = vocabulary_of(index);
  if (!vocabulary) return std::unexpected(vocabulary.error());
  shape.vocabulary = *vocabulary;
  Keys keys(index, model.architecture->name);
  const Value* name = index.find("general.name");
  shape.name =
      name == nullptr ? model.architecture->name : name->text().value_or(model.architecture->name);
  shape.layers = keys.needed("block_count");
  shape.width = keys.needed("embedding_length");
  shape.context = keys.needed("context_length");
  shape.heads = keys.needed("attention.head_count");
  shape.kv_heads = keys.whole("attention.head_count_kv").value_or(shape.heads);
  // qwen3moe has no dense blocks, and its files may lack this.
  shape.ffn = model.architecture->needs_experts ? keys.whole("feed_forward_length").value_or(0)
                                                : keys.needed("feed_forward_length");
  shape.rope_theta = keys.real("rope.freq_base", 10'000.0F);
  keys.must_have("attention.layer_norm_rms_epsilon");
  shape.norm_eps = keys.real("attention.layer_norm_rms_epsilon", 0.0F);
  read_experts(keys, model);
  if (auto read = read_head_dim(keys, shape); !read) return std::unexpected(read.error());
  if (auto read = read_rope_scaling(keys, model); !read) return std::unexpected(read.error());
  read_window(keys, shape);
  if (keys.error()) return std::unexpected(*keys.error());
  if (auto valid = validate(shape); !valid) {
    return wrong(fmt::format("{}: {}", valid.error().where, valid.error().what));
  }
  model.tied_head = index.tensor("output.weight") == nullptr;
  model.rope_factors = index.tensor("rope_freqs.weight") != nullptr;
  model.split_experts = shape.is_moe() && index.tensor("blk.0.ffn_gate.0.weight") != nullptr;
  if (model.shared_ffn > (1U << 20)) {
    return wrong(fmt::format("a shared expert of width {}", model.shared_ffn));
  }
  if (auto held = hold_against_sizes(index, model); !held) return std::unexpected(held.error());
  return model;
}

}  // namespace assay::runtime::gguf
