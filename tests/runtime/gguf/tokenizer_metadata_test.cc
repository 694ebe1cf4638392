#include "runtime/gguf/tokenizer_metadata.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdlib>
#include <functional>

#include "runtime/gguf/gguf_file.h"
#include "runtime/gguf/synth.h"
#include "runtime/tokenizer/tokenizer.h"
#include "tests/base/scratch.h"
#include "tests/runtime/gguf/gguf_bytes.h"

namespace assay::runtime::gguf {
namespace {

using test::GgufBytes;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Optional;

Result<Tokenizer> tokenizer_of(const Index& index) {
  auto vocabulary = read_vocabulary(index);
  if (!vocabulary) return std::unexpected(vocabulary.error());
  return Tokenizer::create(std::move(*vocabulary));
}

TEST(TokenizerMetadata, takesEveryKey) {
  GgufBytes file;
  file.text("tokenizer.ggml.model", "gpt2");
  file.text("tokenizer.ggml.pre", "qwen2");
  file.texts("tokenizer.ggml.tokens", std::vector<std::string>{"a", "b", "ab"});
  file.numbers<float>("tokenizer.ggml.scores", 6, std::array{0.0F, -1.0F, -2.5F});
  file.numbers<std::int32_t>("tokenizer.ggml.token_type", 5, std::array{1, 3, 6});
  file.texts("tokenizer.ggml.merges", std::vector<std::string>{"a b"});
  file.u32("tokenizer.ggml.bos_token_id", 1);
  file.u32("tokenizer.ggml.eos_token_id", 2);
  file.u32("tokenizer.ggml.unknown_token_id", 0);
  file.u32("tokenizer.ggml.padding_token_id", 2);
  file.number<std::uint8_t>("tokenizer.ggml.add_bos_token", 7, 1);
  file.number<std::uint8_t>("tokenizer.ggml.add_eos_token", 7, 0);
  file.number<std::uint8_t>("tokenizer.ggml.add_space_prefix", 7, 0);
  file.text("tokenizer.chat_template", "<|im_start|>");
  const auto bytes = file.made();
  const auto index = parse_index(bytes);
  ASSERT_TRUE(index) << index.error().text();
  const auto vocabulary = read_vocabulary(*index);
  ASSERT_TRUE(vocabulary) << vocabulary.error().text();
  EXPECT_EQ(vocabulary->model, "gpt2");
  EXPECT_EQ(vocabulary->pre, "qwen2");
  EXPECT_THAT(vocabulary->tokens, ElementsAre("a", "b", "ab"));
  EXPECT_THAT(vocabulary->scores, ElementsAre(0.0F, -1.0F, -2.5F));
  EXPECT_THAT(vocabulary->types, ElementsAre(1, 3, 6));
  EXPECT_THAT(vocabulary->merges, ElementsAre("a b"));
  EXPECT_THAT(vocabulary->bos, Optional(1U));
  EXPECT_THAT(vocabulary->eos, Optional(2U));
  EXPECT_THAT(vocabulary->unknown, Optional(0U));
  EXPECT_THAT(vocabulary->padding, Optional(2U));
  EXPECT_THAT(vocabulary->add_bos, Optional(true));
  EXPECT_THAT(vocabulary->add_eos, Optional(false));
  EXPECT_THAT(vocabulary->add_space_prefix, Optional(false));
  EXPECT_EQ(chat_template(*index), "<|im_start|>");
}

TEST(TokenizerMetadata, whatAFileDoesNotSayStaysEmpty) {
  GgufBytes file;
  file.texts("tokenizer.ggml.tokens", std::vector<std::string>{"a"});
  const auto bytes = file.made();
  const auto index = parse_index(bytes);
  const auto vocabulary = read_vocabulary(*index);
  ASSERT_TRUE(vocabulary) << vocabulary.error().text();
  EXPECT_EQ(vocabulary->bos, std::nullopt);
  EXPECT_EQ(vocabulary->add_bos, std::nullopt);
  EXPECT_TRUE(vocabulary->merges.empty());
  EXPECT_EQ(chat_template(*index), "");
}

TEST(TokenizerMetadata, aKeyOfAnotherTypeIsNamed) {
  const std::pair<std::function<void(GgufBytes&)>, const char*> wrong[] = {
      {[](GgufBytes& f) { f.u32("tokenizer.ggml.model", 1); }, "model is 1, and not a text"},
      {[](GgufBytes& f) { f.text("tokenizer.ggml.scores", "x"); }, "scores is \"x\""},
      {[](GgufBytes& f) { f.numbers<double>("tokenizer.ggml.token_type", 12, std::array{1e10}); },
       "token_type is 1 float64, and not an array of whole numbers"},
      {[](GgufBytes& f) { f.text("tokenizer.ggml.merges", "a b"); }, "not an array of texts"},
      {[](GgufBytes& f) { f.number<std::int32_t>("tokenizer.ggml.bos_token_id", 5, -1); },
       "bos_token_id is -1, and not a token's id"},
      {[](GgufBytes& f) { f.number<std::uint64_t>("tokenizer.ggml.eos_token_id", 10, 1ULL << 32); },
       "eos_token_id is 4294967296"},
      {[](GgufBytes& f) { f.u32("tokenizer.ggml.add_bos_token", 1); }, "not true or false"},
  };
  for (const auto& [spoil, says] : wrong) {
    GgufBytes file;
    file.texts("tokenizer.ggml.tokens", std::vector<std::string>{"a"});
    spoil(file);
    const auto bytes = file.made();
    const auto index = parse_index(bytes);
    ASSERT_TRUE(index) << index.error().text();
    const auto vocabulary = read_vocabulary(*index);
    ASSERT_FALSE(vocabulary) << says;
    EXPECT_EQ(vocabulary.error().kind, ErrorKind::bad_file);
    EXPECT_THAT(vocabulary.error().what, HasSubstr(says));
  }
  GgufBytes none;
  const auto bytes = none.made();
  EXPECT_THAT(read_vocabulary(*parse_index(bytes)).error().what, HasSubstr("has no tokenizer"));
}

// The ids are llama.cpp's, of the same file.
TEST(TokenizerMetadata, aSyntheticModelTokenizesAsAnotherReaderDoes) {
  const test::Scratch scratch;
  WorkerPool pool(2);
  const CancelToken cancel;
  ModelShape shape = find_shape("moe-small").value();
  shape.layers = 1;
  ASSERT_TRUE(write_synthetic(scratch / "model", {shape, SynthType::q4, 1}, pool, cancel, {}));
  const auto file = GgufFile::open(scratch / "model");
  ASSERT_TRUE(file) << file.error().text();
  const auto tokenizer = tokenizer_of(file->index());
  ASSERT_TRUE(tokenizer) << tokenizer.error().text();
  const auto ids = tokenizer->encode("The sky is blue");
  ASSERT_TRUE(ids);
  EXPECT_THAT(*ids, ElementsAre(1, 259, 311, 796, 735, 348, 601, 373, 872, 328));
  for (const std::string text :
       {"", " ", "a\r\n\tb  ", "\xE2\x98\x83 \xF0\x9F\x91\xA9", "\xFF\x00z"}) {
    const auto there = tokenizer->encode(text);
    ASSERT_TRUE(there);
    EXPECT_EQ(tokenizer->decode(*there), text);
  }
}

// A trained model is not part of the project; where ASSAY_TRAINED_MODEL names stories260K as GGUF,
// its vocabulary is held against the ids that its authors' program gives.
TEST(TokenizerMetadata, aTrainedModelTokenizesAsItWasTrained) {
  const char* path = std::getenv("ASSAY_TRAINED_MODEL");
  if (path == nullptr) GTEST_SKIP() << "ASSAY_TRAINED_MODEL names no model";
  const auto file = GgufFile::open(path);
  ASSERT_TRUE(file) << file.error().text();
  const auto tokenizer = tokenizer_of(file->index());
  ASSERT_TRUE(tokenizer) << tokenizer.error().text();
  const auto ids = tokenizer->encode("The sky");
  ASSERT_TRUE(ids);
  EXPECT_THAT(*ids, ElementsAre(1, 368, 430, 266, 453, 451));
  EXPECT_EQ(tokenizer->decode(*ids), "The sky");
}

}  // namespace
}  // namespace assay::runtime::gguf
