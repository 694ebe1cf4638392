#include "runtime/tokenizer/pre_tokenizer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include <memory>
#include <random>
#include <string>
#include <vector>

#include "runtime/tokenizer/char_kind.h"
#include "tests/runtime/tokenizer/vocabularies.h"

namespace assay::runtime {
namespace {

using testing::ElementsAre;

struct Published {
  PreTokenizer rules;
  const char* expression;
};

// Byte for byte as their authors published them.
constexpr Published published[] = {
    {PreTokenizer::gpt2,
     R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)"},
    {PreTokenizer::llama3,
     R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)"},
    {PreTokenizer::qwen2,
     R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)"},
};

class Expression {
 public:
  explicit Expression(const char* text) {
    int error = 0;
    PCRE2_SIZE place = 0;
    code_.reset(pcre2_compile(reinterpret_cast<PCRE2_SPTR>(text), PCRE2_ZERO_TERMINATED,
                              PCRE2_UTF | PCRE2_UCP, &error, &place, nullptr));
    if (code_ == nullptr) throw std::runtime_error("the expression does not compile");
    match_.reset(pcre2_match_data_create_from_pattern(code_.get(), nullptr));
  }

  // Where a match from `from` on begins and ends; the end is `from` when there is none.
  std::pair<std::size_t, std::size_t> find(const std::string& text, std::size_t from) const {
    const int groups = pcre2_match(code_.get(), reinterpret_cast<PCRE2_SPTR>(text.data()),
                                   text.size(), from, 0, match_.get(), nullptr);
    if (groups <= 0) return {from, from};
    const PCRE2_SIZE* place = pcre2_get_ovector_pointer(match_.get());
    return {place[0], place[1]};
  }

  bool matches(const std::string& text) const { return find(text, 0).second > 0; }

 private:
  struct Free {
    void operator()(pcre2_code* code) const { pcre2_code_free(code); }
    void operator()(pcre2_match_data* match) const { pcre2_match_data_free(match); }
  };
  std::unique_ptr<pcre2_code, Free> code_;
  std::unique_ptr<pcre2_match_data, Free> match_;
};

std::vector<std::string> parts_of(PreTokenizer rules, std::string_view text) {
  std::vector<std::string> parts;
  while (!text.empty()) {
    const std::size_t size = first_part(rules, text);
    if (size == 0 || size > text.size()) {
      ADD_FAILURE() << "a part of " << size << " bytes";
      break;
    }
    parts.emplace_back(text.substr(0, size));
    text.remove_prefix(size);
  }
  return parts;
}

std::vector<std::string> parts_by(const Expression& expression, const std::string& text) {
  std::vector<std::string> parts;
  for (std::size_t at = 0; at < text.size();) {
    const auto [begin, end] = expression.find(text, at);
    if (begin != at || end <= at) {
      ADD_FAILURE() << "the expression leaves something out";
      break;
    }
    parts.push_back(text.substr(begin, end - begin));
    at = end;
  }
  return parts;
}

std::string utf8(char32_t code) {
  const auto tail = [&](int shift) { return static_cast<char>(0x80 | (code >> shift & 0x3F)); };
  if (code < 0x80) return {static_cast<char>(code)};
  if (code < 0x800) return {static_cast<char>(0xC0 | code >> 6), tail(0)};
  if (code < 0x10000) return {static_cast<char>(0xE0 | code >> 12), tail(6), tail(0)};
  return {static_cast<char>(0xF0 | code >> 18), tail(12), tail(6), tail(0)};
}

// PCRE2 10.42 has the characters of Unicode 14, utf8proc 2.8 those of 15, and PCRE2 keeps U+180E
// among its spaces, which left White_Space with Unicode 6.3.
bool is_comparable(char32_t code, const Expression& unassigned) {
  return (code < 0xD800 || code > 0xDFFF) && code != 0x180E && !unassigned.matches(utf8(code));
}

TEST(PreTokenizer, everyCharacterIsOfTheKindThatAnotherLibrarySays) {
  const Expression unassigned(R"(^\p{Cn})");
  const Expression letter(R"(^\p{L})");
  const Expression number(R"(^\p{N})");
  const Expression space(R"(^\s)");
  std::size_t compared = 0;
  for (char32_t code = 0; code <= 0x10FFFF; ++code) {
    if (!is_comparable(code, unassigned)) continue;
    const std::string text = utf8(code);
    const CharKind kind = kind_of(code);
    ASSERT_EQ(kind == CharKind::letter, letter.matches(text)) << std::hex << std::uint32_t{code};
    ASSERT_EQ(kind == CharKind::number, number.matches(text)) << std::hex << std::uint32_t{code};
    ASSERT_EQ(kind == CharKind::space, space.matches(text)) << std::hex << std::uint32_t{code};
    ++compared;
  }
  EXPECT_GT(compared, 250'000U);
  EXPECT_EQ(kind_of(0x180E), CharKind::other);
}

TEST(PreTokenizer, randomTextIsCutAsThePublishedExpressionCutsIt) {
  const Expression unassigned(R"(^\p{Cn})");
  // Short pieces in which the alternatives meet.
  const std::vector<std::string> atoms = {"a",          "B",
                                          "s",          "S",
                                          "t",          "l",
                                          "L",          "r",
                                          "e",          "v",
                                          "m",          "d",
                                          "'",          "'",
                                          "'",          " ",
                                          " ",          "  ",
                                          "\n",         "\r\n",
                                          "\r",         "\t",
                                          "\v",         "\u0085",
                                          "\u00A0",     "0",
                                          "12",         "\u0663",
                                          "\u2167",     "\u00BD",
                                          "!",          "-",
                                          "_",          "\u0301",
                                          "\u200D",     "\u00E9",
                                          "\u8A9E",     "\u017F",
                                          "\u212A",     "\u3000",
                                          "\u2028",     "\U0001F600",
                                          "\U0001D7D9", "\U00020000",
                                          "\uFFFD",     std::string(1, '\0')};
  std::mt19937 random(20'240'501);
  for (const auto& [rules, text] : published) {
    const Expression expression(text);
    for (int round = 0; round < 20'000; ++round) {
      std::string input;
      for (auto left = random() % 24; left > 0; --left) {
        const auto code = static_cast<char32_t>(random() % 0x30000);
        if (random() % 8 == 0 && is_comparable(code, unassigned)) {
          input += utf8(code);
        } else {
          input += atoms[random() % atoms.size()];
        }
      }
      ASSERT_EQ(parts_of(rules, input), parts_by(expression, input))
          << testing::PrintToString(input);
    }
  }
}

TEST(PreTokenizer, gpt2KeepsOneSpaceWithAWordAndLeavesTheOthers) {
  const auto parts = [](std::string_view text) { return parts_of(PreTokenizer::gpt2, text); };
  EXPECT_THAT(parts("Hello world's  end"), ElementsAre("Hello", " world", "'s", " ", " end"));
  EXPECT_THAT(parts("I'M you'll"), ElementsAre("I", "'", "M", " you", "'ll"));
  EXPECT_THAT(parts("a\n\n b 1234"), ElementsAre("a", "\n\n", " b", " 1234"));
  EXPECT_THAT(parts("x   "), ElementsAre("x", "   "));
  EXPECT_THAT(parts("\t\tx"), ElementsAre("\t", "\t", "x"));
}

TEST(PreTokenizer, llama3TakesThreeDigitsAndQwen2One) {
  EXPECT_THAT(parts_of(PreTokenizer::llama3, "12345 6"), ElementsAre("123", "45", " ", "6"));
  EXPECT_THAT(parts_of(PreTokenizer::qwen2, "12345 6"),
              ElementsAre("1", "2", "3", "4", "5", " ", "6"));
}

TEST(PreTokenizer, llama3AndQwen2TakeContractionsOfAnyCaseAndLineEndsWithSymbols) {
  for (const PreTokenizer rules : {PreTokenizer::llama3, PreTokenizer::qwen2}) {
    EXPECT_THAT(parts_of(rules, "I'M it'LL"), ElementsAre("I", "'M", " it", "'LL"));
    EXPECT_THAT(parts_of(rules, "'\u017Fa"), ElementsAre("'\u017F", "a"));
    EXPECT_THAT(parts_of(rules, "(a) {\n\n  b"), ElementsAre("(a", ")", " {\n\n", " ", " b"));
    EXPECT_THAT(parts_of(rules, "a \n \n  b\t\nc"),
                ElementsAre("a", " \n \n", " ", " b", "\t\n", "c"));
    EXPECT_THAT(parts_of(rules, "\tx\u3000y"), ElementsAre("\tx", "\u3000y"));
  }
}

TEST(PreTokenizer, aByteThatIsNoCharacterIsASymbol) {
  for (const auto& [rules, text] : published) {
    EXPECT_THAT(parts_of(rules, "a \xFF\xE2\x96 b"), ElementsAre("a", " \xFF\xE2\x96", " b"));
    for (const std::string& tricky : test::tricky_texts()) {
      std::string together;
      for (const std::string& part : parts_of(rules, tricky)) together += part;
      EXPECT_EQ(together, tricky);
    }
  }
}

TEST(PreTokenizer, isFoundByTheNamesOfFiles) {
  EXPECT_EQ(find_pre_tokenizer("gpt-2"), PreTokenizer::gpt2);
  EXPECT_EQ(find_pre_tokenizer("default"), PreTokenizer::gpt2);
  EXPECT_EQ(find_pre_tokenizer(""), PreTokenizer::gpt2);
  EXPECT_EQ(find_pre_tokenizer("llama-bpe"), PreTokenizer::llama3);
  EXPECT_EQ(find_pre_tokenizer("llama3"), PreTokenizer::llama3);
  EXPECT_EQ(find_pre_tokenizer("qwen2"), PreTokenizer::qwen2);
  EXPECT_EQ(find_pre_tokenizer("tekken"), std::nullopt);
}

}  // namespace
}  // namespace assay::runtime
