#include "runtime/gguf/index.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "tests/runtime/gguf/gguf_bytes.h"

namespace assay::runtime::gguf {
namespace {

using test::GgufBytes;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Optional;

constexpr std::uint64_t huge = std::numeric_limits<std::uint64_t>::max();

// Two tensors, and a value of each type.
GgufBytes sound_file() {
  GgufBytes file;
  file.text("general.architecture", "llama");
  file.number<std::uint8_t>("a.uint8", 0, 255);
  file.number<std::int8_t>("a.int8", 1, -128);
  file.number<std::uint16_t>("a.uint16", 2, 65'535);
  file.number<std::int16_t>("a.int16", 3, -32'768);
  file.u32("a.uint32", 4'294'967'295);
  file.number<std::int32_t>("a.int32", 5, -7);
  file.f32("a.float32", 0.5F);
  file.number<std::uint8_t>("a.true", 7, 1);
  file.number<std::uint64_t>("a.uint64", 10, huge);
  file.number<std::int64_t>("a.int64", 11, -9);
  file.number("a.float64", 12, 1e-300);
  file.texts("a.strings", std::vector<std::string>{"", "two", "\xff\x01"});
  file.numbers<float>("a.floats", 6, std::array{1.5F, -2.0F});
  file.numbers<std::int32_t>("a.ints", 5, std::array{-1, 2, 3});
  file.f32_tensor("one.weight", {3, 2});
  file.tensors.push_back({"two.weight", {64, 2, 2}, 8, 8 * 34, {}});
  return file;
}

TEST(GgufIndex, readsEveryTypeOfValue) {
  const auto bytes = sound_file().made();
  const auto index = parse_index(bytes);
  ASSERT_TRUE(index) << index.error().text();
  EXPECT_EQ(index->version(), 3U);
  EXPECT_EQ(index->metadata().size(), 15U);
  EXPECT_THAT(index->find("general.architecture")->text(), Optional(std::string_view("llama")));
  EXPECT_THAT(index->find("a.uint8")->unsigned_integer(), Optional(255U));
  EXPECT_THAT(index->find("a.uint16")->unsigned_integer(), Optional(65'535U));
  EXPECT_THAT(index->find("a.uint32")->unsigned_integer(), Optional(4'294'967'295U));
  EXPECT_THAT(index->find("a.uint64")->unsigned_integer(), Optional(huge));
  for (const auto& [key, value] : {std::pair{"a.int8", -128.0},
                                   {"a.int16", -32'768.0},
                                   {"a.int32", -7.0},
                                   {"a.int64", -9.0},
                                   {"a.float32", 0.5},
                                   {"a.float64", 1e-300}}) {
    EXPECT_THAT(index->find(key)->number(), Optional(value)) << key;
    EXPECT_EQ(index->find(key)->unsigned_integer(), std::nullopt) << key;
  }
  EXPECT_THAT(index->find("a.true")->boolean(), Optional(true));
  EXPECT_EQ(index->find("a.true")->number(), std::nullopt);
  EXPECT_THAT(index->find("a.strings")->texts(), Optional(ElementsAre("", "two", "\xff\x01")));
  EXPECT_THAT(index->find("a.floats")->numbers(), Optional(ElementsAre(1.5, -2.0)));
  EXPECT_THAT(index->find("a.ints")->numbers(), Optional(ElementsAre(-1.0, 2.0, 3.0)));
  EXPECT_EQ(index->find("a.ints")->number(), std::nullopt);
  EXPECT_EQ(index->find("a"), nullptr);
}

TEST(GgufIndex, showsValuesInShort) {
  GgufBytes file = sound_file();
  file.text("a.escape", "\x1b[2J");
  file.text("a.long", std::string(100, 'x'));
  const auto bytes = file.made();
  const auto index = parse_index(bytes);
  ASSERT_TRUE(index) << index.error().text();
  EXPECT_EQ(index->find("a.escape")->shown(), "\"\\x1B[2J\"");
  EXPECT_THAT(index->find("a.long")->shown(), HasSubstr("(100 bytes)"));
  EXPECT_EQ(index->find("a.int8")->shown(), "-128");
  EXPECT_EQ(index->find("a.uint64")->shown(), "18446744073709551615");
  EXPECT_EQ(index->find("a.true")->shown(), "true");
  EXPECT_EQ(index->find("a.float32")->shown(), "0.5");
  EXPECT_EQ(index->find("a.strings")->shown(), "3 strings");
}

TEST(GgufIndex, placesTensorsBehindItsEndByTheAlignment) {
  for (const std::uint64_t alignment : {8U, 32U, 4096U}) {
    GgufBytes file = sound_file();
    file.u32("general.alignment", static_cast<std::uint32_t>(alignment));
    file.alignment = alignment;
    const auto bytes = file.made();
    const auto index = parse_index(bytes);
    ASSERT_TRUE(index) << index.error().text();
    const Tensor* one = index->tensor("one.weight");
    const Tensor* two = index->tensor("two.weight");
    ASSERT_TRUE(one != nullptr && two != nullptr);
    EXPECT_EQ(one->offset % alignment, 0U);
    EXPECT_EQ(one->bytes, 24U);
    EXPECT_EQ(bytes[one->offset], std::byte{0});
    EXPECT_THAT(two->dims, ElementsAre(64, 2, 2, 1));
    EXPECT_EQ(two->dim_count, 3U);
    EXPECT_EQ(two->bytes, 4U * 2 * 34);
    EXPECT_EQ(two->type, GgufType::q8_0);
    EXPECT_EQ(two->offset + two->bytes, bytes.size());
    EXPECT_EQ(index->tensor("three.weight"), nullptr);
  }
}

TEST(GgufIndex, readsVersion2AndFilesOfMetadataAlone) {
  GgufBytes file;
  file.version = 2;
  file.text("general.architecture", "llama");
  const auto bytes = file.made();
  const auto index = parse_index(bytes);
  ASSERT_TRUE(index) << index.error().text();
  EXPECT_EQ(index->version(), 2U);
  EXPECT_TRUE(index->tensors().empty());
}

struct WrongIndex {
  std::string what;
  std::function<void(GgufBytes&)> spoil;
  std::string says;
};

std::vector<WrongIndex> wrong_files() {
  const auto first_tensor = [](auto change) {
    return [change](GgufBytes& file) { change(file.tensors[0]); };
  };
  using Record = GgufBytes::TensorRecord;
  return {
      {"no GGUF file", [](GgufBytes& f) { f.magic = "GGML"; }, "not a GGUF file"},
      {"version 1", [](GgufBytes& f) { f.version = 1; }, "version 1; 2 and 3"},
      {"version 4", [](GgufBytes& f) { f.version = 4; }, "version 4"},
      {"big endian", [](GgufBytes& f) { f.version = 0x0300'0000; }, "big-endian"},
      {"too many tensors", [](GgufBytes& f) { f.tensor_count = huge; }, "the number of tensors"},
      {"one tensor more", [](GgufBytes& f) { f.tensor_count = 3; }, "tensor 2"},
      {"a negative number of entries", [](GgufBytes& f) { f.entry_count = huge; },
       "the number of metadata entries"},
      {"an entry less", [](GgufBytes& f) { f.entry_count = 14; }, ""},
      {"an entry more", [](GgufBytes& f) { f.entry_count = 16; }, ""},
      {"a key twice", [](GgufBytes& f) { f.u32("a.uint8", 1); }, "a.uint8 is there twice"},
      {"an empty key", [](GgufBytes& f) { f.u32("", 1); }, "key of entry 15 is no name"},
      {"a key with a newline", [](GgufBytes& f) { f.u32("a\nb", 1); }, "is no name: \"a\\x0Ab\""},
      {"an unknown type", [](GgufBytes& f) { f.raw("b", 13, "xxxx"); }, "unknown type, 13"},
      {"an array of arrays",
       [](GgufBytes& f) { f.raw("b", 9, std::string("\x09\0\0\0\x01\0\0\0\0\0\0\0", 12)); },
       "b is an array of arrays"},
      {"a huge array", [](GgufBytes& f) { f.numbers<float>("b", 6, std::array{1.0F}, huge / 4); },
       "cut off"},
      {"an array whose bytes overflow",
       [](GgufBytes& f) { f.numbers<double>("b", 12, std::array{1.0}, (huge / 8) + 2); },
       "cut off"},
      {"a huge array of strings",
       [](GgufBytes& f) { f.texts("b", std::vector<std::string>{"x"}, huge); }, "b runs over"},
      {"a string of a huge length", [](GgufBytes& f) { f.raw("b", 8, std::string(8, '\xff')); },
       "b runs over"},
      {"neither true nor false", [](GgufBytes& f) { f.number<std::uint8_t>("b", 7, 2); },
       "neither true nor false"},
      {"an alignment of 0", [](GgufBytes& f) { f.u32("general.alignment", 0); }, "alignment is 0"},
      {"an alignment of 24", [](GgufBytes& f) { f.u32("general.alignment", 24); }, "is 24"},
      {"an alignment of 2 GiB", [](GgufBytes& f) { f.u32("general.alignment", 1U << 31); },
       "2147483648"},
      {"an alignment in words", [](GgufBytes& f) { f.text("general.alignment", "32"); },
       "is \"32\""},
      {"a tensor without a name", first_tensor([](Record& t) { t.name.clear(); }),
       "the name of tensor 0"},
      {"a tensor of a long name", first_tensor([](Record& t) { t.name.assign(65, 'x'); }),
       "the name of tensor 0"},
      {"a tensor twice", first_tensor([](Record& t) { t.name = "two.weight"; }),
       "two.weight is there twice"},
      {"no dimension", first_tensor([](Record& t) { t.dims.clear(); }), "has 0 dimensions"},
      {"five dimensions", first_tensor([](Record& t) {
         t.dims = {1, 1, 1, 1, 6};
       }),
       "has 5 dimensions"},
      {"a dimension of 0", first_tensor([](Record& t) {
         t.dims = {0, 2};
       }),
       "0 elements"},
      {"a negative dimension", first_tensor([](Record& t) {
         t.dims = {3, huge};
       }),
       "18446744073709551615 elements along dimension 1"},
      {"dimensions whose product overflows", first_tensor([](Record& t) {
         t.dims = {1U << 31, 1U << 31, 1U << 31, 1U << 31};
       }),
       "elements along dimension"},
      {"more elements than bytes", first_tensor([](Record& t) {
         t.dims = {3, 1U << 30};
       }),
       "bytes are there"},
      {"an unknown tensor type", first_tensor([](Record& t) { t.type = 99; }),
       "one.weight is of an unknown type, 99"},
      {"a type that is not read", first_tensor([](Record& t) { t.type = 16; }), "type IQ2_XXS"},
      {"half a block", first_tensor([](Record& t) { t.type = 8; }), "are a block of Q8_0"},
      {"a misaligned tensor", first_tensor([](Record& t) { t.offset = 4; }), "alignment is 32"},
      {"a tensor behind the end", first_tensor([](Record& t) { t.offset = 1U << 20; }),
       "bytes are there"},
      {"a negative offset", first_tensor([](Record& t) { t.offset = huge - 31; }),
       "bytes are there"},
      {"tensors that overlap", first_tensor([](Record& t) { t.offset = 32; }),
       "one.weight and two.weight overlap"},
      {"tensors in one place", [](GgufBytes& f) { f.tensors[1].offset = 0; }, "overlap"},
  };
}

TEST(GgufIndex, saysInOneLineWhatIsWrongWithAFile) {
  for (const WrongIndex& wrong : wrong_files()) {
    GgufBytes file = sound_file();
    wrong.spoil(file);
    const auto index = parse_index(file.made());
    ASSERT_FALSE(index) << wrong.what;
    EXPECT_EQ(index.error().kind, ErrorKind::bad_file) << wrong.what;
    EXPECT_THAT(index.error().what, HasSubstr(wrong.says)) << wrong.what;
    EXPECT_EQ(index.error().text().find('\n'), std::string::npos) << wrong.what;
    EXPECT_LT(index.error().what.size(), 300U) << wrong.what;
  }
}

TEST(GgufIndex, refusesAFileThatIsCutOffAtAnyByte) {
  const auto bytes = sound_file().made();
  for (std::size_t length = 0; length < bytes.size(); ++length) {
    const auto index = parse_index(std::span(bytes).first(length));
    ASSERT_FALSE(index) << length;
    EXPECT_EQ(index.error().kind, ErrorKind::bad_file) << length;
  }
}

}  // namespace
}  // namespace assay::runtime::gguf
