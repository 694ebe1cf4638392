// Vocabularies and texts that the tests of the tokenizers share.
#pragma once

#include <fmt/core.h>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/tokenizer/byte_alphabet.h"
#include "runtime/tokenizer/tokenizer.h"

namespace assay::test {

// Adds a token; its id.
inline runtime::TokenId add_token(runtime::Vocabulary& vocabulary, std::string text,
                                  float score = 0,
                                  runtime::TokenType type = runtime::TokenType::normal) {
  vocabulary.tokens.push_back(std::move(text));
  vocabulary.scores.push_back(score);
  vocabulary.types.push_back(static_cast<std::int32_t>(type));
  return static_cast<runtime::TokenId>(vocabulary.tokens.size() - 1);
}

// <unk>, <s>, </s>, the byte tokens from 3 on, then these pieces from 259 on, the first with the
// highest score.
inline runtime::Vocabulary llama_vocabulary(const std::vector<std::string>& pieces) {
  runtime::Vocabulary vocabulary;
  vocabulary.model = "llama";
  add_token(vocabulary, "<unk>", 0, runtime::TokenType::unknown);
  vocabulary.bos = add_token(vocabulary, "<s>", 0, runtime::TokenType::control);
  vocabulary.eos = add_token(vocabulary, "</s>", 0, runtime::TokenType::control);
  for (int byte = 0; byte < 256; ++byte) {
    add_token(vocabulary, fmt::format("<0x{:02X}>", byte), 0, runtime::TokenType::byte);
  }
  float score = 0;
  for (const std::string& piece : pieces) add_token(vocabulary, piece, score--);
  return vocabulary;
}

// A text of bytes in the alphabet of byte-level vocabularies.
inline std::string in_letters(std::string_view bytes) {
  std::string letters;
  for (const char byte : bytes) letters += runtime::letter_of(static_cast<std::uint8_t>(byte));
  return letters;
}

// The letters of the 256 bytes, a byte's id being its value; the results of the merges from 256 on;
// <|end|>, control, last. A merge is written in bytes: {"ab", "c"}.
inline runtime::Vocabulary gpt2_vocabulary(
    const std::string& pre, const std::vector<std::pair<std::string, std::string>>& merges) {
  runtime::Vocabulary vocabulary;
  vocabulary.model = "gpt2";
  vocabulary.pre = pre;
  for (int byte = 0; byte < 256; ++byte) {
    add_token(vocabulary, runtime::letter_of(static_cast<std::uint8_t>(byte)));
  }
  for (const auto& [left, right] : merges) {
    add_token(vocabulary, in_letters(left + right));
    vocabulary.merges.push_back(in_letters(left) + " " + in_letters(right));
  }
  vocabulary.eos = add_token(vocabulary, "<|end|>", 0, runtime::TokenType::control);
  vocabulary.scores.clear();
  return vocabulary;
}

// Texts that break tokenizers: white space of all sorts, joiners, marks, other scripts, bytes that
// are no UTF-8.
inline const std::vector<std::string>& tricky_texts() {
  static const std::vector<std::string> texts = {
      "",
      " ",
      "   ",
      "\t\t \t",
      "\n",
      "\r\n",
      " a\r\n\r\n  b\rc\n ",
      "  leading and trailing  ",
      "Hello, World! It's 2024; they'LL've been I'M.",
      "don't 'S 'sS 'reread 'll' '",
      "1 22 333 4444 55555 \u0661\u0662\u0663\u0664 \u2167 \u00BD \u3007",
      "caf\u00E9 cafe\u0301 \u1E9E\u00DF \u017Flong'\u017F",
      "\U0001F468\u200D\U0001F469\u200D\U0001F467\u200D\U0001F466 \U0001F3F3\uFE0F\u200D\U0001F308",
      "\U0001F1E9\U0001F1EA\U0001F44D\U0001F3FD",
      "\u0645\u0631\u062D\u0628\u0627 \u202B\u05E9\u05DC\u05D5\u05DD\u202C",
      "\u65E5\u672C\u8A9E\u306E\u30C6\u30AD\u30B9\u30C8\u3001\u4E2D\u6587\u3000\u5168\u89D2",
      "\u0939\u093F\u0928\u094D\u0926\u0940 \uD55C\uAD6D\uC5B4",
      "\u1112\u1161\u11AB a\u0300\u0301\u0302",
      "\uFEFFBOM \uFFFD \uFFFF \U0010FFFF",
      "\u2581 \u2581\u2581a \u2581",
      "\u00A0\u2003\u2028\u2029\u3000 \u180E\u200B",
      std::string("NUL\0in\0 the\0middle", 18),
      std::string(1, '\0'),
      "<s>a</s> <unk> <|end|> <0x41> [INST]",
      "\x80",
      "\xFF\xFE",
      "cut \xE2\x96",
      "\xE2\x96 \x81",
      "\xED\xA0\x80\xED\xBF\xBF",      // surrogates
      "\xC0\x80\xC1\xBF\xE0\x80\xAF",  // overlong
      "\xF0\x80\x80\xAF\xF4\x90\x80\x80\xF8\x88\x80\x80\x80",
      "a\xCC\x81\xCC",
      "\xF0\x9F\x98",
      "x\x01\x1F\x7F\xC2\x85y",
  };
  return texts;
}

inline runtime::Tokenizer made(runtime::Vocabulary vocabulary) {
  return runtime::Tokenizer::create(std::move(vocabulary)).value();
}

}  // namespace assay::test
