#include "runtime/gguf/synth.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <set>

#include "runtime/gguf/gguf_file.h"
#include "runtime/gguf/model.h"
#include "runtime/gguf/synth_vocabulary.h"
#include "runtime/model/number_formats.h"
#include "tests/base/scratch.h"

namespace assay::runtime::gguf {
namespace {

using testing::HasSubstr;

constexpr SynthType all_types[] = {SynthType::f16, SynthType::q8, SynthType::q4, SynthType::fp8};

// Large enough that a matrix takes more than one piece, small enough to be quick.
ModelShape shape_of(const char* preset) {
  ModelShape shape = find_shape(preset).value();
  shape.layers = 2;
  return shape;
}

Result<> make(const std::string& path, const Synth& synth, unsigned threads = 2) {
  WorkerPool pool(threads);
  const CancelToken cancel;
  return write_synthetic(path, synth, pool, cancel, {});
}

std::uint16_t half_at(const std::byte* at) {
  std::uint16_t code = 0;
  std::memcpy(&code, at, sizeof code);
  return code;
}

// The layouts of the specification, a weight at a time.
std::vector<float> weights_of(const Tensor& tensor, std::span<const std::byte> bytes) {
  std::vector<float> weights;
  const std::byte* at = bytes.data();
  for (std::uint64_t i = 0; i < tensor.elements(); ++i) {
    const std::uint64_t in_block = i % 32;
    const std::byte* block = at + i / 32 * block_of(tensor.type).bytes;
    switch (tensor.type) {
      case GgufType::f16:
        weights.push_back(half_to_float(half_at(at + 2 * i)));
        break;
      case GgufType::q8_0:
        weights.push_back(half_to_float(half_at(block)) *
                          static_cast<float>(static_cast<std::int8_t>(block[2 + in_block])));
        break;
      case GgufType::q4_0: {
        const unsigned pair = static_cast<unsigned>(block[2 + in_block % 16]);
        const int code = static_cast<int>(in_block < 16 ? pair & 15U : pair >> 4);
        weights.push_back(half_to_float(half_at(block)) * static_cast<float>(code - 8));
        break;
      }
      default: {
        float weight = 0;
        std::memcpy(&weight, at + 4 * i, sizeof weight);
        weights.push_back(weight);
      }
    }
  }
  return weights;
}

TEST(GgufSynth, everyPresetAndTypeIsAModelOfItsShape) {
  const test::Scratch scratch;
  for (const char* preset : {"moe-small", "dense-small"}) {
    for (const SynthType type : all_types) {
      const Synth synth{shape_of(preset), type, 1};
      ASSERT_TRUE(make(scratch / "model", synth));
      const auto file = GgufFile::open(scratch / "model");
      ASSERT_TRUE(file) << file.error().text();
      EXPECT_EQ(file->file_bytes(), synthetic_bytes(synth));
      const auto model = read_model(file->index());
      ASSERT_TRUE(model) << model.error().text();
      EXPECT_EQ(model->shape.name, preset);
      EXPECT_EQ(model->shape.parameters(), synth.shape.parameters());
      EXPECT_EQ(model->shape.experts, synth.shape.experts);
      EXPECT_EQ(model->shape.context, synth.shape.context);
      std::uint64_t elements = 0;
      for (const Tensor& tensor : file->index().tensors()) elements += tensor.elements();
      EXPECT_EQ(elements, synth.shape.parameters());
    }
  }
}

TEST(GgufSynth, theSameSeedGivesTheSameBytesWhateverTheThreads) {
  const test::Scratch scratch;
  for (const SynthType type : all_types) {
    Synth synth{shape_of("moe-small"), type, 7};
    ASSERT_TRUE(make(scratch / "one", synth, 1));
    ASSERT_TRUE(make(scratch / "three", synth, 3));
    EXPECT_TRUE(scratch.content("one") == scratch.content("three"));
    synth.seed = 8;
    ASSERT_TRUE(make(scratch / "other", synth));
    EXPECT_FALSE(scratch.content("one") == scratch.content("other"));
  }
}

TEST(GgufSynth, weightsHaveMean0AndKeepTheSizeOfActivations) {
  const test::Scratch scratch;
  for (const SynthType type : all_types) {
    ASSERT_TRUE(make(scratch / "model", {shape_of("dense-small"), type, 3}));
    const auto file = GgufFile::open(scratch / "model");
    ASSERT_TRUE(file) << file.error().text();
    for (const char* name : {"blk.0.attn_q.weight", "blk.1.ffn_down.weight", "output.weight"}) {
      const Tensor& tensor = *file->index().tensor(name);
      double sum = 0;
      double squares = 0;
      for (const float weight : weights_of(tensor, file->bytes_of(tensor))) {
        sum += weight;
        squares += std::pow(weight, 2);
      }
      const double count = static_cast<double>(tensor.elements());
      const double sigma = 1 / std::sqrt(static_cast<double>(tensor.dims[0]));
      // A few octaves of codes and of scales make the size; FP8 has a power of two of its own.
      const double most = type == SynthType::fp8 ? 1.43 : 1.1;
      EXPECT_NEAR(sum / count, 0, 6 * sigma / std::sqrt(count)) << name;
      EXPECT_LT(std::sqrt(squares / count) / sigma, most) << name;
      EXPECT_GT(std::sqrt(squares / count) / sigma, 1 / most) << name;
    }
  }
}

TEST(GgufSynth, weightsOnTheFp8GridHaveThreeBitsOfMantissaAndEightOctaves) {
  const test::Scratch scratch;
  ASSERT_TRUE(make(scratch / "model", {shape_of("dense-small"), SynthType::fp8, 3}));
  const auto file = GgufFile::open(scratch / "model");
  ASSERT_TRUE(file) << file.error().text();
  const Tensor& tensor = *file->index().tensor("blk.0.ffn_up.weight");
  int least = 100;
  int most = -100;
  for (const float weight : weights_of(tensor, file->bytes_of(tensor))) {
    int exponent = 0;
    const float mantissa = std::frexp(weight, &exponent) * 16;
    ASSERT_EQ(mantissa, std::round(mantissa));
    least = std::min(least, exponent);
    most = std::max(most, exponent);
  }
  // E4M3 has 15 octaves of normal numbers.
  EXPECT_EQ(most - least, 7);
}

TEST(GgufSynth, cancelledItLeavesNothing) {
  const test::Scratch scratch;
  WorkerPool pool(2);
  CancelToken cancel;
  const auto result =
      write_synthetic(scratch / "model", {shape_of("dense-small"), SynthType::f16, 1}, pool, cancel,
                      [&](std::uint64_t, std::uint64_t) { cancel.cancel(); });
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().kind, ErrorKind::cancelled);
  EXPECT_TRUE(scratch.names().empty());
}

TEST(GgufSynth, theProgressEndsAtTheWhole) {
  const test::Scratch scratch;
  WorkerPool pool(2);
  const CancelToken cancel;
  std::uint64_t last = 0;
  std::uint64_t whole = 0;
  ASSERT_TRUE(write_synthetic(scratch / "model", {shape_of("moe-small"), SynthType::q4, 1}, pool,
                              cancel, [&](std::uint64_t done, std::uint64_t total) {
                                EXPECT_GT(done, last);
                                last = done;
                                whole = total;
                              }));
  EXPECT_EQ(last, whole);
}

TEST(GgufSynth, refusesWhatNoFileCanHold) {
  const auto wrong = [](auto change) {
    Synth synth{shape_of("dense-small"), SynthType::q8, 1};
    change(synth.shape);
    const auto bytes = synthetic_bytes(synth);
    EXPECT_FALSE(bytes);
    EXPECT_EQ(bytes.error().kind, ErrorKind::usage);
    return bytes.error().text();
  };
  EXPECT_THAT(wrong([](ModelShape& shape) { shape.ffn = 100; }), HasSubstr("blocks of Q8_0"));
  EXPECT_THAT(wrong([](ModelShape& shape) { shape.vocabulary = 511; }), HasSubstr("512"));
  EXPECT_THAT(wrong([](ModelShape& shape) { shape.kv_heads = 3; }), HasSubstr("kv_heads"));
}

TEST(SynthVocabulary, hasEveryByteAndNoTokenTwice) {
  for (const std::uint32_t count : {512U, 2048U, 32'000U}) {
    const SynthVocabulary vocabulary = synth_vocabulary(count);
    ASSERT_EQ(vocabulary.tokens.size(), count);
    ASSERT_EQ(vocabulary.scores.size(), count);
    ASSERT_EQ(vocabulary.types.size(), count);
    const std::set<std::string> distinct(vocabulary.tokens.begin(), vocabulary.tokens.end());
    EXPECT_EQ(distinct.size(), count);
    EXPECT_EQ(vocabulary.tokens[3 + 0x0A], "<0x0A>");
    EXPECT_EQ(vocabulary.types[3 + 255], 6);
    EXPECT_TRUE(distinct.contains("\u2581e"));
  }
  const SynthVocabulary large = synth_vocabulary(32'000);
  EXPECT_THAT(large.tokens, testing::Contains("\u2581the"));
}

}  // namespace
}  // namespace assay::runtime::gguf
