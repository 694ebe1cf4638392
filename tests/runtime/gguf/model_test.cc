#include "runtime/gguf/model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>

#include "tests/runtime/gguf/model_files.h"

namespace assay::runtime::gguf {
namespace {

using test::FileKind;
using test::FileSizes;
using test::GgufBytes;
using test::ModelFile;
using testing::HasSubstr;

Result<Model> read_bytes(const std::vector<std::byte>& bytes) {
  const auto index = parse_index(bytes);
  if (!index) return std::unexpected(index.error());
  return read_model(*index);
}

TEST(GgufModel, readsTheSizesOfEveryFamily) {
  for (const FileKind kind :
       {FileKind::llama, FileKind::mixtral, FileKind::mixtral_split, FileKind::qwen2,
        FileKind::qwen2moe, FileKind::qwen3, FileKind::qwen3moe}) {
    const ModelFile file(kind, {});
    const auto model = read_bytes(file.bytes.made());
    ASSERT_TRUE(model) << static_cast<int>(kind) << model.error().text();
    const ModelShape& shape = model->shape;
    EXPECT_EQ(shape.name, "small");
    EXPECT_EQ(shape.layers, 2U);
    EXPECT_EQ(shape.width, 32U);
    EXPECT_EQ(shape.heads, 4U);
    EXPECT_EQ(shape.kv_heads, 2U);
    EXPECT_EQ(shape.head_dim, 8U);
    EXPECT_EQ(shape.vocabulary, 40U);
    EXPECT_EQ(shape.context, 64U);
    EXPECT_EQ(shape.rope_theta, 1e6F);
    EXPECT_EQ(shape.norm_eps, 1e-6F);
    EXPECT_EQ(shape.is_moe(), file.has_experts());
    EXPECT_EQ(shape.experts, file.has_experts() ? 4U : 0U);
    EXPECT_EQ(shape.experts_used, file.has_experts() ? 2U : 0U);
    const bool own_width = kind == FileKind::qwen2moe || kind == FileKind::qwen3moe;
    EXPECT_EQ(shape.ffn, own_width ? 16U : 48U);
    EXPECT_EQ(model->shared_ffn, kind == FileKind::qwen2moe ? 24U : 0U);
    EXPECT_EQ(model->tied_head, kind == FileKind::qwen2);
    EXPECT_EQ(model->split_experts, kind == FileKind::mixtral_split);
  }
}

// The configurations that the families were published with.
TEST(GgufModel, knowsWhatTellsTheFamiliesApart) {
  const auto family = [](const char* name) { return *find_architecture(name); };
  EXPECT_EQ(family("llama").rope, Rope::neighbours);
  EXPECT_TRUE(family("llama").renormalizes);
  for (const char* name : {"qwen2", "qwen2moe"}) {
    EXPECT_EQ(family(name).rope, Rope::halves);
    EXPECT_TRUE(family(name).qkv_bias);
    EXPECT_FALSE(family(name).qk_norm);
  }
  for (const char* name : {"qwen3", "qwen3moe"}) {
    EXPECT_EQ(family(name).rope, Rope::halves);
    EXPECT_FALSE(family(name).qkv_bias);
    EXPECT_TRUE(family(name).qk_norm);
  }
  EXPECT_FALSE(family("qwen2moe").renormalizes);
  EXPECT_TRUE(family("qwen3moe").renormalizes);
}

// Qwen3's heads are wider than width / heads.
TEST(GgufModel, aHeadMayBeWiderThanItsShareOfTheWidth) {
  FileSizes sizes;
  sizes.head_dim = 16;
  const auto model = read_bytes(ModelFile(FileKind::qwen3, sizes).bytes.made());
  ASSERT_TRUE(model) << model.error().text();
  EXPECT_EQ(model->shape.head_dim, 16U);
  EXPECT_EQ(model->shape.query_width(), 64U);
}

TEST(GgufModel, whatAFileMayLeaveOutHasItsDefault) {
  GgufBytes file;
  file.text("general.architecture", "llama");
  for (const auto& [key, value] : {std::pair{"block_count", 1U},
                                   {"embedding_length", 8U},
                                   {"context_length", 16U},
                                   {"feed_forward_length", 8U},
                                   {"attention.head_count", 2U}}) {
    file.u32(std::string("llama.") + key, value);
  }
  file.f32("llama.attention.layer_norm_rms_epsilon", 1e-5F);
  file.f32_tensor("token_embd.weight", {8, 5});
  for (const char* name :
       {"attn_q", "attn_k", "attn_v", "attn_output", "ffn_gate", "ffn_up", "ffn_down"}) {
    file.f32_tensor(std::string("blk.0.") + name + ".weight", {8, 8});
  }
  for (const char* name : {"blk.0.attn_norm", "blk.0.ffn_norm", "output_norm"}) {
    file.f32_tensor(std::string(name) + ".weight", {8});
  }
  const auto model = read_bytes(file.made());
  ASSERT_TRUE(model) << model.error().text();
  EXPECT_EQ(model->shape.name, "llama");
  EXPECT_EQ(model->shape.kv_heads, 2U);
  EXPECT_EQ(model->shape.head_dim, 4U);
  EXPECT_EQ(model->shape.rope_theta, 10'000.0F);
  EXPECT_TRUE(model->tied_head);
  EXPECT_EQ(model->rope_scale, 1.0F);
}

TEST(GgufModel, takesRopeFactorsLinearScalingAndAWindow) {
  ModelFile file(FileKind::llama, {});
  file.bytes.text("llama.rope.scaling.type", "linear");
  file.bytes.f32("llama.rope.scaling.factor", 4.0F);
  file.bytes.u32("llama.attention.sliding_window", 48);
  file.bytes.f32_tensor("rope_freqs.weight", {4});
  const auto model = read_bytes(file.bytes.made());
  ASSERT_TRUE(model) << model.error().text();
  EXPECT_EQ(model->rope_scale, 4.0F);
  EXPECT_TRUE(model->rope_factors);
  EXPECT_EQ(model->shape.context, 48U);
}

// Files from before expert_feed_forward_length gave the width of all experts used together.
TEST(GgufModel, anOldFileOfAQwenMoeGivesTheWidthOfItsExpertsTogether) {
  FileSizes sizes;
  sizes.ffn = sizes.shared_ffn = 32;
  const ModelFile whole(FileKind::qwen2moe, sizes);
  GgufBytes old;
  old.text("general.architecture", "qwen2moe");
  for (const auto& [key, value] : {std::pair{"block_count", 2U},
                                   {"embedding_length", 32U},
                                   {"context_length", 64U},
                                   {"feed_forward_length", 32U},
                                   {"attention.head_count", 4U},
                                   {"attention.head_count_kv", 2U},
                                   {"expert_count", 4U},
                                   {"expert_used_count", 2U}}) {
    old.u32(std::string("qwen2moe.") + key, value);
  }
  old.f32("qwen2moe.attention.layer_norm_rms_epsilon", 1e-6F);
  old.tensors = whole.bytes.tensors;
  const auto model = read_bytes(old.made());
  ASSERT_TRUE(model) << model.error().text();
  EXPECT_EQ(model->shape.ffn, 16U);
  EXPECT_EQ(model->shared_ffn, 32U);
}

struct WrongModel {
  std::string what;
  FileKind kind;
  std::function<void(ModelFile&)> spoil;
  std::string says;
};

// With `key` of another value, or of another type.
std::function<void(ModelFile&)> with_u32(const std::string& key, std::uint32_t value) {
  return [=](ModelFile& file) { file.bytes.u32(key, value); };
}
auto tensor_of(ModelFile& file, std::string_view name) {
  return std::ranges::find(file.bytes.tensors, name, &GgufBytes::TensorRecord::name);
}

std::vector<WrongModel> wrong_models() {
  const auto without = [](const char* name) {
    return [name](ModelFile& file) { file.bytes.tensors.erase(tensor_of(file, name)); };
  };
  return {
      {"a tensor less", FileKind::llama, without("blk.1.ffn_up.weight"),
       "blk.1.ffn_up.weight is missing"},
      {"no embedding", FileKind::llama, without("token_embd.weight"),
       "token_embd.weight is missing"},
      {"a bias less", FileKind::qwen2, without("blk.0.attn_k.bias"), "attn_k.bias is missing"},
      {"a gate less", FileKind::qwen2moe, without("blk.0.ffn_gate_inp_shexp.weight"),
       "ffn_gate_inp_shexp.weight is missing"},
      {"a norm less", FileKind::qwen3moe, without("blk.1.attn_q_norm.weight"),
       "blk.1.attn_q_norm.weight is missing"},
      {"an expert less", FileKind::mixtral_split, without("blk.1.ffn_up.3.weight"),
       "blk.1.ffn_up.3.weight is missing"},
      {"a tensor more", FileKind::llama,
       [](ModelFile& f) { f.bytes.f32_tensor("blk.0.attn_q.bias", {32}); },
       "blk.0.attn_q.bias is a tensor that a llama model"},
      {"a layer more", FileKind::llama,
       [](ModelFile& f) { f.bytes.f32_tensor("blk.2.attn_norm.weight", {32}); },
       "blk.2.attn_norm.weight is a tensor"},
      {"a matrix of another shape", FileKind::llama,
       [](ModelFile& f) {
         tensor_of(f, "blk.1.attn_k.weight")->dims = {16, 32};
       },
       "blk.1.attn_k.weight is 16 x 32 x 1 x 1, and the sizes in the metadata make it 32 x 16"},
      {"experts of another number", FileKind::mixtral,
       [](ModelFile& f) {
         tensor_of(f, "blk.0.ffn_up_exps.weight")->dims = {32, 96, 2};
       },
       "blk.0.ffn_up_exps.weight is 32 x 96 x 2 x 1"},
      {"a norm in F16", FileKind::llama,
       [](ModelFile& f) { tensor_of(f, "output_norm.weight")->type = 1; },
       "output_norm.weight is F16, and F32 is read"},
      {"a scaling that is not read", FileKind::llama,
       [](ModelFile& f) { f.bytes.text("llama.rope.scaling.type", "yarn"); },
       "rope.scaling.type is \"yarn\""},
      {"a scaling that is no number", FileKind::llama,
       [](ModelFile& f) {
         f.bytes.text("llama.rope.scaling.type", "linear");
         f.bytes.f32("llama.rope.scaling.factor", std::nanf(""));
       },
       "rope.scaling.factor is nan"},
      {"half of a head turned", FileKind::llama, with_u32("llama.rope.dimension_count", 4),
       "rope.dimension_count is 4"},
      {"keys wider than values", FileKind::llama, with_u32("llama.attention.value_length", 16),
       "attention.value_length 16"},
      {"tokens of another number", FileKind::llama,
       [](ModelFile& f) {
         f.bytes.texts("tokenizer.ggml.tokens", std::vector<std::string>{"a", "b"});
       },
       "tokenizer.ggml.tokens has 2 strings, and token_embd.weight 40 rows"},
      {"a window in words", FileKind::llama,
       [](ModelFile& f) { f.bytes.text("llama.attention.sliding_window", "wide"); },
       "llama.attention.sliding_window is \"wide\""},
  };
}

TEST(GgufModel, saysInOneLineWhatDoesNotFit) {
  for (const WrongModel& wrong : wrong_models()) {
    ModelFile file(wrong.kind, {});
    wrong.spoil(file);
    const auto model = read_bytes(file.bytes.made());
    ASSERT_FALSE(model) << wrong.what;
    EXPECT_EQ(model.error().kind, ErrorKind::bad_file) << wrong.what;
    EXPECT_THAT(model.error().what, HasSubstr(wrong.says)) << wrong.what;
    EXPECT_EQ(model.error().text().find('\n'), std::string::npos) << wrong.what;
  }
}

// Each number of the metadata, wrong in each way: one line, and no work in proportion to it.
TEST(GgufModel, refusesEverySizeThatIsWrong) {
  const char* const sizes[] = {
      "block_count",          "embedding_length",        "context_length", "feed_forward_length",
      "attention.head_count", "attention.head_count_kv", "expert_count",   "expert_used_count"};
  for (const char* wrong : sizes) {
    for (const std::uint64_t value : {std::uint64_t{0}, std::uint64_t{0xFFFF'FFFF},
                                      std::numeric_limits<std::uint64_t>::max()}) {
      GgufBytes file;
      file.text("general.architecture", "qwen2moe");
      file.f32("qwen2moe.attention.layer_norm_rms_epsilon", 1e-6F);
      file.u32("qwen2moe.expert_feed_forward_length", 16);
      for (const char* key : sizes) {
        file.number("qwen2moe." + std::string(key), 10, key == wrong ? value : std::uint64_t{4});
      }
      file.f32_tensor("token_embd.weight", {4, 40});
      const auto model = read_bytes(file.made());
      ASSERT_FALSE(model) << wrong << " " << value;
      EXPECT_EQ(model.error().kind, ErrorKind::bad_file);
    }
  }
}

TEST(GgufModel, aFamilyThatIsNotReadIsToldWithThoseThatAre) {
  GgufBytes file;
  file.text("general.architecture", "gemma");
  const auto model = read_bytes(file.made());
  ASSERT_FALSE(model);
  EXPECT_THAT(model.error().what, HasSubstr("\"gemma\""));
  EXPECT_THAT(model.error().hint, HasSubstr("qwen3moe"));
}

// Whatever one changed byte makes of a file: a model that holds together, or one line.
TEST(GgufModel, survivesEveryByteOfItsFileChanged) {
  FileSizes sizes;
  sizes.layers = 1;
  const auto bytes = ModelFile(FileKind::qwen2moe, sizes).bytes.made();
  const auto sound = parse_index(bytes);
  ASSERT_TRUE(sound);
  const std::size_t head = sound->tensors().front().offset;
  for (std::size_t at = 0; at < head; ++at) {
    for (const unsigned change : {0x01U, 0x80U, 0xFFU}) {
      auto changed = bytes;
      changed[at] ^= static_cast<std::byte>(change);
      const auto index = parse_index(changed);
      if (!index) {
        EXPECT_EQ(index.error().kind, ErrorKind::bad_file);
        continue;
      }
      for (const Tensor& tensor : index->tensors()) {
        ASSERT_LE(tensor.offset + tensor.bytes, changed.size()) << at;
      }
      const auto model = read_model(*index);
      if (model) {
        EXPECT_TRUE(validate(model->shape)) << at;
      } else {
        EXPECT_EQ(model.error().kind, ErrorKind::bad_file) << at;
        EXPECT_EQ(model.error().text().find('\n'), std::string::npos) << at;
      }
    }
  }
}

}  // namespace
}  // namespace assay::runtime::gguf
