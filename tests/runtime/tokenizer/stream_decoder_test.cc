#include "runtime/tokenizer/stream_decoder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/tokenizer/utf8_char.h"
#include "tests/runtime/tokenizer/vocabularies.h"

namespace assay::runtime {
namespace {

using testing::ElementsAre;

// Every character is bytes, each a token.
Tokenizer of_bytes() {
  return test::made(test::gpt2_vocabulary("gpt-2", {}));
}

std::vector<std::string> pushed(const Tokenizer& tokenizer, std::string_view bytes) {
  StreamDecoder decoder(tokenizer, Place::beginning);
  std::vector<std::string> texts;
  for (const char byte : bytes) texts.push_back(decoder.push(static_cast<std::uint8_t>(byte)));
  texts.push_back(decoder.finish());
  return texts;
}

TEST(StreamDecoder, aCharacterComesWhenItIsWhole) {
  const Tokenizer tokenizer = of_bytes();
  EXPECT_THAT(pushed(tokenizer, "a\u00E9"), ElementsAre("a", "", "\u00E9", ""));
  EXPECT_THAT(pushed(tokenizer, "\u20AC"), ElementsAre("", "", "\u20AC", ""));
  EXPECT_THAT(pushed(tokenizer, "\U0001F600!"), ElementsAre("", "", "", "\U0001F600", "!", ""));
}

TEST(StreamDecoder, whatCanBecomeNoCharacterIsNotHeldBack) {
  const Tokenizer tokenizer = of_bytes();
  EXPECT_THAT(pushed(tokenizer, "\x80"), ElementsAre("\x80", ""));
  EXPECT_THAT(pushed(tokenizer, "\xC0\xFF"), ElementsAre("\xC0", "\xFF", ""));
  EXPECT_THAT(pushed(tokenizer,
                     "\xE2\x96"
                     "a"),
              ElementsAre("", "",
                          "\xE2\x96"
                          "a",
                          ""));
  EXPECT_THAT(pushed(tokenizer, "\xE2\xE2\x96\x81"),
              ElementsAre("", "\xE2", "", "\xE2\x96\x81", ""));
  EXPECT_THAT(pushed(tokenizer, "\xED\xA0"), ElementsAre("", "\xED\xA0", ""));
  EXPECT_THAT(pushed(tokenizer, "\xF4\x90"), ElementsAre("", "\xF4\x90", ""));
  EXPECT_THAT(pushed(tokenizer, "\xE0\x9F"), ElementsAre("", "\xE0\x9F", ""));
  EXPECT_THAT(pushed(tokenizer, "\xF0\x8F"), ElementsAre("", "\xF0\x8F", ""));
}

TEST(StreamDecoder, theEndGivesWhatIsHeld) {
  EXPECT_THAT(pushed(of_bytes(), "\xF0\x9F\x98"), ElementsAre("", "", "", "\xF0\x9F\x98"));
}

// Each text cut at every place, and by single ids.
TEST(StreamDecoder, allOfItTogetherIsWhatDecodeSays) {
  std::vector<Tokenizer> tokenizers;
  tokenizers.push_back(of_bytes());
  tokenizers.push_back(test::made(test::llama_vocabulary({"\u2581", "a", "\u00E9", "\u2581a"})));
  for (const Tokenizer& tokenizer : tokenizers) {
    for (const std::string& text : test::tricky_texts()) {
      const auto ids = tokenizer.encode(text, Specials::parse).value();
      const std::string whole = tokenizer.decode(ids);
      StreamDecoder decoder(tokenizer, Place::beginning);
      std::string together;
      for (const TokenId id : ids) {
        const std::string next = decoder.push(id);
        // A valid text comes in valid pieces.
        EXPECT_TRUE(is_valid_utf8(next) || !is_valid_utf8(whole));
        together += next;
      }
      EXPECT_EQ(together + decoder.finish(), whole);
      for (std::size_t cut = 0; cut <= ids.size(); ++cut) {
        const auto begin = std::span(ids).first(cut);
        StreamDecoder halves(tokenizer, Place::beginning);
        std::string first;
        for (const TokenId id : begin) first += halves.push(id);
        first += halves.finish();
        EXPECT_EQ(first, tokenizer.decode(begin));
        std::string second;
        for (const TokenId id : std::span(ids).subspan(cut)) second += halves.push(id);
        EXPECT_EQ(first + second + halves.finish(), whole);
      }
    }
  }
}

TEST(StreamDecoder, aContinuedTextKeepsItsFirstSpace) {
  // 259: mark, 260: a, 261: mark+a
  const Tokenizer tokenizer = test::made(test::llama_vocabulary({"\u2581", "a", "\u2581a"}));
  StreamDecoder beginning(tokenizer, Place::beginning);
  EXPECT_EQ(beginning.push(261), "a");
  EXPECT_EQ(beginning.push(261), " a");
  StreamDecoder continued(tokenizer, Place::continued);
  EXPECT_EQ(continued.push(261), " a");
  // Behind a special token a text of its own begins.
  EXPECT_EQ(continued.push(2), "");
  EXPECT_EQ(continued.push(261), "a");
}

}  // namespace
}  // namespace assay::runtime
