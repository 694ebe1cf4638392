#include "runtime/gguf/writer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <vector>

#include "runtime/gguf/gguf_file.h"
#include "tests/base/scratch.h"
#include "tests/runtime/gguf/gguf_bytes.h"

namespace assay::runtime::gguf {
namespace {

using testing::ElementsAre;
using testing::Optional;

const std::vector<NewTensor> two_tensors = {{"one.weight", GgufType::f32, {3, 2}},
                                            {"two.weight", GgufType::q8_0, {64, 2}}};

// 24 + 136 bytes, each of another value than its neighbours.
std::vector<std::byte> content() {
  std::vector<std::byte> bytes(24 + 136);
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::byte>(i * 7 + 1);
  return bytes;
}

Metadata one_of_each() {
  Metadata metadata;
  metadata.text("a.text", "llama");
  metadata.whole("a.whole", 7);
  metadata.real("a.real", 0.5F);
  metadata.boolean("a.boolean", true);
  metadata.texts("a.texts", std::vector<std::string>{"x", "", "yz"});
  metadata.reals("a.reals", std::array{1.0F, -2.5F});
  metadata.integers("a.integers", std::array{-1, 2});
  return metadata;
}

// The same numbers put one behind the other by hand, as the specification has them.
TEST(GgufWriter, writesByteForByteWhatTheSpecificationSays) {
  const test::Scratch scratch;
  Metadata metadata;
  metadata.text("a.text", "llama");
  metadata.whole("a.whole", 7);
  metadata.texts("a.texts", std::vector<std::string>{"x", "", "yz"});
  auto writer = Writer::create(scratch / "model", metadata, two_tensors);
  ASSERT_TRUE(writer) << writer.error().text();
  std::vector<std::byte> counted(24 + 136);
  // What GgufBytes fills its tensors with, padding counted.
  for (std::size_t i = 0; i < counted.size(); ++i) {
    counted[i] = static_cast<std::byte>(i < 24 ? i : i + 8);
  }
  ASSERT_TRUE(writer->write(counted));
  ASSERT_TRUE(writer->commit());

  test::GgufBytes by_hand;
  by_hand.text("a.text", "llama");
  by_hand.u32("a.whole", 7);
  by_hand.texts("a.texts", std::vector<std::string>{"x", "", "yz"});
  by_hand.f32_tensor("one.weight", {3, 2});
  by_hand.tensors.push_back({"two.weight", {64, 2}, 8, 136, {}});
  auto expected = by_hand.made();
  const auto file = GgufFile::open(scratch / "model");
  ASSERT_TRUE(file) << file.error().text();
  const std::string written = scratch.content("model");
  const std::uint64_t second = file->index().tensor("two.weight")->offset;
  // Padding is zero where the hand-made file counts on.
  for (std::uint64_t i = second - 8; i < second; ++i) expected[i] = std::byte{0};
  const std::uint64_t padding = written.size() - expected.size();
  EXPECT_LT(padding, 32U);
  EXPECT_EQ(std::memcmp(written.data(), expected.data(), expected.size()), 0);
  EXPECT_EQ(written.size(), file_bytes(metadata, two_tensors));
}

TEST(GgufWriter, whatItWritesIsReadInPiecesOfAnySize) {
  const test::Scratch scratch;
  const auto bytes = content();
  for (const std::size_t piece : {1U, 5U, 24U, 160U}) {
    auto writer = Writer::create(scratch / "model", one_of_each(), two_tensors);
    ASSERT_TRUE(writer) << writer.error().text();
    EXPECT_EQ(writer->data_bytes(), bytes.size());
    for (std::size_t at = 0; at < bytes.size(); at += piece) {
      ASSERT_TRUE(
          writer->write(std::span(bytes).subspan(at).first(std::min(piece, bytes.size() - at))));
    }
    ASSERT_TRUE(writer->commit());
    const auto file = GgufFile::open(scratch / "model");
    ASSERT_TRUE(file) << file.error().text();
    const Index& index = file->index();
    EXPECT_THAT(index.find("a.text")->text(), Optional(std::string_view("llama")));
    EXPECT_THAT(index.find("a.whole")->unsigned_integer(), Optional(7U));
    EXPECT_THAT(index.find("a.real")->number(), Optional(0.5));
    EXPECT_THAT(index.find("a.boolean")->boolean(), Optional(true));
    EXPECT_THAT(index.find("a.texts")->texts(), Optional(ElementsAre("x", "", "yz")));
    EXPECT_THAT(index.find("a.reals")->numbers(), Optional(ElementsAre(1.0, -2.5)));
    EXPECT_THAT(index.find("a.integers")->numbers(), Optional(ElementsAre(-1.0, 2.0)));
    const auto one = file->bytes_of(*index.tensor("one.weight"));
    const auto two = file->bytes_of(*index.tensor("two.weight"));
    EXPECT_EQ(std::vector(one.begin(), one.end()), std::vector(bytes.begin(), bytes.begin() + 24));
    EXPECT_EQ(std::vector(two.begin(), two.end()), std::vector(bytes.begin() + 24, bytes.end()));
  }
}

TEST(GgufWriter, leavesNothingBehindUntilItIsWhole) {
  const test::Scratch scratch;
  const auto bytes = content();
  {
    auto writer = Writer::create(scratch / "model", {}, two_tensors);
    ASSERT_TRUE(writer) << writer.error().text();
    ASSERT_TRUE(writer->write(std::span(bytes).first(159)));
    EXPECT_EQ(writer->commit().error().kind, ErrorKind::usage);
    ASSERT_TRUE(writer->write(std::span(bytes).last(1)));
    EXPECT_EQ(writer->write(std::span(bytes).last(1)).error().kind, ErrorKind::usage);
  }
  EXPECT_TRUE(scratch.names().empty());
}

}  // namespace
}  // namespace assay::runtime::gguf
