#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "tests/runtime/tokenizer/vocabularies.h"

namespace assay::runtime {
namespace {

using testing::HasSubstr;

Vocabulary sound_llama() {
  return test::llama_vocabulary({"\u2581", "a", "b", "ab"});
}

Vocabulary sound_gpt2() {
  return test::gpt2_vocabulary("gpt-2", {{"a", "b"}, {"ab", "c"}});
}

template <class Change>
void expect_refused(Vocabulary vocabulary, const Change& change, const std::string& what) {
  change(vocabulary);
  const auto tokenizer = Tokenizer::create(std::move(vocabulary));
  ASSERT_FALSE(tokenizer) << what;
  EXPECT_EQ(tokenizer.error().kind, ErrorKind::bad_file);
  EXPECT_THAT(tokenizer.error().text(), HasSubstr(what));
  EXPECT_THAT(tokenizer.error().what, testing::Not(HasSubstr("\n")));
}

TEST(WrongVocabulary, oneThatContradictsItselfIsRefused) {
  const auto refused = [](const auto& change, const std::string& what) {
    expect_refused(sound_llama(), change, what);
    expect_refused(sound_gpt2(), change, what);
  };
  refused([](Vocabulary& v) { v = {.model = v.model}; }, "the vocabulary has no tokens");
  refused([](Vocabulary& v) { v.types.pop_back(); }, "token types");
  refused([](Vocabulary& v) { v.scores.assign(3, 0.0F); }, "tokens and 3 scores");
  refused([](Vocabulary& v) { v.types[5] = 0; }, "token 5 is of an unknown type, 0");
  refused([](Vocabulary& v) { v.types[5] = 7; }, "token 5 is of an unknown type, 7");
  refused([](Vocabulary& v) { v.types[5] = -1; }, "token 5 is of an unknown type, -1");
  refused([](Vocabulary& v) { v.bos = 100'000; }, "the bos token is 100000, and there are");
  refused([](Vocabulary& v) { v.eos = ~TokenId{0}; }, "the eos token is 4294967295");
  refused([](Vocabulary& v) { v.unknown = 100'000; }, "the unknown token is 100000");
  refused([](Vocabulary& v) { v.padding = 100'000; }, "the padding token is 100000");
  refused(
      [](Vocabulary& v) {
        v.bos.reset();
        v.add_bos = true;
      },
      "bos is to be added, and there is no bos token");
  refused(
      [](Vocabulary& v) {
        v.eos.reset();
        v.add_eos = true;
      },
      "eos is to be added, and there is no eos token");
  refused([](Vocabulary& v) { v.tokens[7].clear(); }, "token 7 is empty");
  refused([](Vocabulary& v) { v.tokens[7].assign(4097, 'a'); },
          "token 7 has 4097 bytes, and 4096 are the most");
  refused([](Vocabulary& v) { v.tokens[7] = "\xC3"; }, "token 7 is no valid UTF-8");
  refused([](Vocabulary& v) { v.tokens[7] = v.tokens[4]; }, "tokens 4 and 7 are the same text");
  refused([](Vocabulary& v) { v.model = "bert"; },
          "tokenizer.ggml.model is unknown: bert; known are llama, gpt2");
  refused([](Vocabulary& v) { v.model = "a\nb"; }, "is unknown: a\\x0Ab");
}

TEST(WrongVocabulary, sentencePieceNeedsScoresAndAWayToWriteEveryByte) {
  const auto refused = [](const auto& change, const std::string& what) {
    expect_refused(sound_llama(), change, what);
  };
  refused([](Vocabulary& v) { v.scores.clear(); }, "the tokens have no scores");
  refused([](Vocabulary& v) { v.scores[3] = std::numeric_limits<float>::quiet_NaN(); },
          "the score of token 3 is not a number");
  refused([](Vocabulary& v) { v.types[10] = static_cast<std::int32_t>(TokenType::unused); },
          "there are 255 of the 256 byte tokens");
  for (const char* text : {"<0x0g>", "<0x0a>", "<0x07", "<0x077>", "a byte"}) {
    refused([&](Vocabulary& v) { v.tokens[10] = text; },
            "token 10 is a byte token and not <0x00>..<0xFF>");
  }
  // All normal: neither byte tokens nor an unknown one.
  refused([](Vocabulary& v) { v.types.clear(); }, "no byte tokens and no unknown token");
}

TEST(WrongVocabulary, byteLevelNeedsATokenForEachByteAndMergesOfTokens) {
  const auto refused = [](const auto& change, const std::string& what) {
    expect_refused(sound_gpt2(), change, what);
  };
  refused([](Vocabulary& v) { v.tokens[0x41] = "else"; }, "there is no token for the byte 0x41");
  refused([](Vocabulary& v) { v.types[0x41] = static_cast<std::int32_t>(TokenType::control); },
          "there is no token for the byte 0x41");
  refused([](Vocabulary& v) { v.types[256] = static_cast<std::int32_t>(TokenType::byte); },
          "token 256 is a byte token, which gpt2 has none of");
  refused([](Vocabulary& v) { v.types[258] = 1, v.tokens[258] = "\u4E2D"; },
          "token 258 has a character that stands for no byte");
  for (const char* merge : {"", " ", "ab", "a ", " b", "a b c", "a  b"}) {
    refused([&](Vocabulary& v) { v.merges[1] = merge; },
            "merge 1 is not two tokens with a space between");
  }
  refused([](Vocabulary& v) { v.merges[1] = "abc xyz"; }, "merge 1 is of texts that are no tokens");
  refused([](Vocabulary& v) { v.merges[1] = "b a"; }, "merge 1 makes no token");
  refused([](Vocabulary& v) { v.merges[1] = v.merges[0]; }, "merges 0 and 1 are the same");
}

TEST(WrongVocabulary, anUnknownPreTokenizerIsToldWithTheKnownOnes) {
  expect_refused(
      sound_gpt2(), [](Vocabulary& v) { v.pre = "tekken"; },
      "tokenizer.ggml.pre is unknown: tekken; known are default, gpt-2, llama-bpe");
}

}  // namespace
}  // namespace assay::runtime
