#include "runtime/tokenizer/tokenizer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <thread>

#include "runtime/tokenizer/byte_alphabet.h"
#include "tests/runtime/tokenizer/vocabularies.h"

namespace assay::runtime {
namespace {

using test::made;
using testing::ElementsAre;
using testing::IsEmpty;

using Ids = std::vector<TokenId>;

// 259 and on: mark, a, b, mark+a, ab.
Vocabulary small_llama() {
  return test::llama_vocabulary({"\u2581", "a", "b", "\u2581a", "ab"});
}

// 256: " a", 257: "ab", 258: "abb", 259: <|end|>.
Vocabulary small_gpt2(const std::string& pre = "gpt-2") {
  return test::gpt2_vocabulary(pre, {{" ", "a"}, {"a", "b"}, {"ab", "b"}});
}

std::vector<Tokenizer> tokenizers_of_all_kinds() {
  std::vector<Tokenizer> all;
  all.push_back(made(small_llama()));
  auto without_prefix = small_llama();
  without_prefix.add_space_prefix = false;
  all.push_back(made(std::move(without_prefix)));
  all.push_back(made(test::llama_vocabulary({})));
  for (const char* pre : {"gpt-2", "llama-bpe", "qwen2"}) all.push_back(made(small_gpt2(pre)));
  return all;
}

// By value: what encode() returns is gone when a loop over its value begins.
Ids encoded(const Tokenizer& tokenizer, std::string_view text) {
  return tokenizer.encode(text, Specials::text, Ends::none).value();
}

std::string random_bytes(std::mt19937& random, std::size_t size) {
  // Bytes that often make characters, and spaces among them.
  static constexpr unsigned char leads[] = {0x20, 0x61, 0x62, 0xC3, 0xE2, 0x96, 0x81, 0xF0};
  std::string bytes;
  for (std::size_t i = 0; i < size; ++i) {
    bytes += static_cast<char>(random() % 2 == 0 ? random() % 256 : leads[random() % 8]);
  }
  return bytes;
}

TEST(Tokenizer, anyBytesComeBack) {
  std::mt19937 random(3);
  for (const Tokenizer& tokenizer : tokenizers_of_all_kinds()) {
    std::vector<std::string> texts = test::tricky_texts();
    for (int i = 0; i < 3000; ++i) texts.push_back(random_bytes(random, random() % 40));
    for (const std::string& text : texts) {
      for (const Specials specials : {Specials::text, Specials::parse}) {
        const auto ids = tokenizer.encode(text, specials);
        ASSERT_TRUE(ids);
        EXPECT_EQ(tokenizer.decode(
                      *ids, specials == Specials::parse ? Controls::shown : Controls::hidden),
                  specials == Specials::parse && tokenizer.bos() ? "<s>" + text : text);
      }
    }
  }
}

TEST(Tokenizer, aSentencePieceTextBeginsWithBosAndASpace) {
  const Tokenizer tokenizer = made(small_llama());
  EXPECT_THAT(tokenizer.encode("ab").value(), ElementsAre(1, 262, 261));
  EXPECT_THAT(tokenizer.encode(" ab").value(), ElementsAre(1, 259, 262, 261));
  EXPECT_THAT(tokenizer.encode("").value(), ElementsAre(1));
  EXPECT_THAT(tokenizer.encode("bab", Specials::text, Ends::none).value(),
              ElementsAre(259, 261, 263));
}

TEST(Tokenizer, endsAreAddedAsTheFileSays) {
  auto vocabulary = small_llama();
  vocabulary.add_bos = false;
  vocabulary.add_eos = true;
  EXPECT_THAT(made(vocabulary).encode("a").value(), ElementsAre(262, 2));
  EXPECT_THAT(made(vocabulary).encode("a", Specials::text, Ends::none).value(), ElementsAre(262));
  // Without the key: llama and llama-3 begin with bos, gpt-2 and qwen2 do not.
  auto gpt2 = small_gpt2("qwen2");
  gpt2.bos = 259;
  EXPECT_THAT(made(gpt2).encode("a").value(), ElementsAre('a'));
  gpt2.pre = "llama-bpe";
  EXPECT_THAT(made(gpt2).encode("a").value(), ElementsAre(259, 'a'));
  gpt2.add_bos = false;
  EXPECT_THAT(made(gpt2).encode("a").value(), ElementsAre('a'));
}

TEST(Tokenizer, aCharacterWithoutATokenBecomesItsBytes) {
  const Tokenizer tokenizer = made(small_llama());
  EXPECT_THAT(tokenizer.encode("a\u00E9", Specials::text, Ends::none).value(),
              ElementsAre(262, 3 + 0xC3, 3 + 0xA9));
  // The mark of a space, when a person writes it, is not a space.
  EXPECT_THAT(tokenizer.encode("\u2581", Specials::text, Ends::none).value(),
              ElementsAre(259, 3 + 0xE2, 3 + 0x96, 3 + 0x81));
}

TEST(Tokenizer, withoutByteTokensUnknownCharactersBecomeOneUnknownToken) {
  Vocabulary vocabulary;
  vocabulary.model = "llama";
  const TokenId unknown = test::add_token(vocabulary, "<unk>", 0, TokenType::unknown);
  test::add_token(vocabulary, "\u2581");
  const TokenId a = test::add_token(vocabulary, "a");
  const Tokenizer tokenizer = made(std::move(vocabulary));
  EXPECT_THAT(tokenizer.encode("xya\u00E9").value(), ElementsAre(1, unknown, a, unknown));
  EXPECT_EQ(tokenizer.decode(Ids{1, unknown, a}), "a");
  EXPECT_EQ(tokenizer.decode(Ids{1, unknown, a}, Controls::shown), "<unk>a");
}

TEST(Tokenizer, byteLevelPairsJoinByRankWithinTheParts) {
  const Tokenizer tokenizer = made(small_gpt2());
  EXPECT_THAT(tokenizer.encode("abb ab").value(), ElementsAre(258, 256, 'b'));
  // A merge over the border of two parts is not made.
  EXPECT_THAT(tokenizer.encode("1a").value(), ElementsAre('1', 'a'));
}

TEST(Tokenizer, llama3TakesAPartThatIsATokenWhateverItsMergesSay) {
  // "abc" is a token that merges do not reach.
  const auto with_unreachable = [](const char* pre) {
    auto vocabulary = small_gpt2(pre);
    test::add_token(vocabulary, "abc");
    vocabulary.scores.clear();
    return made(std::move(vocabulary));
  };
  EXPECT_THAT(with_unreachable("llama-bpe").encode("abc").value(), ElementsAre(260));
  EXPECT_THAT(with_unreachable("qwen2").encode("abc").value(), ElementsAre(257, 'c'));
}

TEST(Tokenizer, theAlphabetOfBytesIsThePublishedOne) {
  // openai/gpt-2: bytes_to_unicode().
  EXPECT_EQ(letter_of(' '), "\u0120");
  EXPECT_EQ(letter_of('\n'), "\u010A");
  EXPECT_EQ(letter_of('\t'), "\u0109");
  EXPECT_EQ(letter_of(0), "\u0100");
  EXPECT_EQ(letter_of('!'), "!");
  EXPECT_EQ(letter_of('~'), "~");
  EXPECT_EQ(letter_of(0x7F), "\u0121");
  EXPECT_EQ(letter_of(0xA0), "\u0142");
  EXPECT_EQ(letter_of(0xAD), "\u0143");
  EXPECT_EQ(letter_of(0xFF), "\u00FF");
  for (int byte = 0; byte < 256; ++byte) {
    EXPECT_EQ(bytes_of_letters(letter_of(static_cast<std::uint8_t>(byte))),
              std::string(1, static_cast<char>(byte)));
  }
  EXPECT_EQ(bytes_of_letters("\u0144"), std::nullopt);
  EXPECT_EQ(bytes_of_letters(" "), std::nullopt);
  EXPECT_EQ(bytes_of_letters("\u00AD"), std::nullopt);
}

TEST(Tokenizer, specialTokensAreTakenOutOfATextOnlyWhenAsked) {
  const Tokenizer llama = made(small_llama());
  EXPECT_THAT(llama.encode("a</s>a", Specials::parse, Ends::none).value(),
              ElementsAre(262, 2, 262));
  for (const TokenId id : encoded(llama, "a</s><s>a")) {
    EXPECT_GT(id, 2U);
  }
  const Tokenizer gpt2 = made(small_gpt2());
  EXPECT_THAT(gpt2.encode("ab<|end|>ab", Specials::parse).value(), ElementsAre(257, 259, 257));
  for (const TokenId id : encoded(gpt2, "ab<|end|>")) EXPECT_LT(id, 259U);
}

TEST(Tokenizer, ofSpecialTokensAtOnePlaceTheLongestIsTaken) {
  auto vocabulary = small_gpt2();
  const TokenId tool = test::add_token(vocabulary, "<t", 0, TokenType::user_defined);
  const TokenId tools = test::add_token(vocabulary, "<tools>", 0, TokenType::control);
  const TokenId tooth = test::add_token(vocabulary, "<toot", 0, TokenType::control);
  vocabulary.scores.clear();
  const Tokenizer tokenizer = made(std::move(vocabulary));
  const auto encode = [&](std::string_view text) {
    return tokenizer.encode(text, Specials::parse).value();
  };
  EXPECT_THAT(encode("<tools>"), ElementsAre(tools));
  EXPECT_THAT(encode("<tools"), ElementsAre(tool, 'o', 'o', 'l', 's'));
  EXPECT_THAT(encode("<<toot<t"), ElementsAre('<', tooth, tool));
  EXPECT_THAT(encode("<"), ElementsAre('<'));
}

TEST(Tokenizer, textNeverBecomesATokenThatIsNotNormal) {
  // Merges and scores lead there.
  auto llama = small_llama();
  test::add_token(llama, "bb", 9, TokenType::user_defined);
  test::add_token(llama, "aa", 9, TokenType::unused);
  test::add_token(llama, "ba", 9, TokenType::control);
  EXPECT_THAT(made(llama).encode("bbaab", Specials::text, Ends::none).value(),
              ElementsAre(259, 261, 261, 260, 263));
  auto gpt2 = small_gpt2("llama-bpe");
  gpt2.types[257] = static_cast<std::int32_t>(TokenType::user_defined);
  EXPECT_THAT(made(gpt2).encode("ab").value(), ElementsAre('a', 'b'));
  EXPECT_THAT(made(gpt2).encode("ab", Specials::parse).value(), ElementsAre(257));
}

TEST(Tokenizer, partsAreOneTextInWhichOnlySomeAreLookedThrough) {
  const Tokenizer tokenizer = made(small_llama());
  const TextPart parts[] = {
      {"<s>", Specials::parse}, {"a", Specials::text}, {"b</s>", Specials::parse}};
  EXPECT_THAT(tokenizer.encode(parts, Ends::none).value(), ElementsAre(1, 262, 261, 2));
  // The person's text does not complete a token of the template's, nor is it one.
  const TextPart smuggled[] = {{"</", Specials::parse}, {"s></s>", Specials::text}};
  const Ids ids = tokenizer.encode(smuggled, Ends::none).value();
  for (const TokenId id : ids) EXPECT_GT(id, 2U);
}

TEST(Tokenizer, controlTokensAreHiddenUnlessAskedForAndUnusedOnesHaveNoText) {
  auto vocabulary = small_llama();
  const TokenId unused = test::add_token(vocabulary, "[PAD1]", 0, TokenType::unused);
  const TokenId mine = test::add_token(vocabulary, "\u2581mine", 0, TokenType::user_defined);
  const Tokenizer tokenizer = made(std::move(vocabulary));
  const Ids ids = {1, 262, unused, 263, mine, 262, 2, 999'999};
  EXPECT_EQ(tokenizer.decode(ids), "aab\u2581minea");
  EXPECT_EQ(tokenizer.decode(ids, Controls::shown), "<s>aab\u2581minea</s>");
  EXPECT_EQ(tokenizer.token(unused), "[PAD1]");
  EXPECT_EQ(tokenizer.token(999'999), "");
}

TEST(Tokenizer, aMegabyteWithoutABreakIsNotWorkForItsSquare) {
  std::mt19937 random(5);
  std::string letters;
  while (letters.size() < 1'000'000) letters += static_cast<char>('a' + random() % 3);
  const std::string texts[] = {std::string(1'000'000, 'a'), std::string(1'000'000, ' '), letters,
                               std::string(1'000'000, '<')};
  for (const Tokenizer& tokenizer : tokenizers_of_all_kinds()) {
    for (const std::string& text : texts) {
      const auto ids = tokenizer.encode(text, Specials::parse, Ends::none);
      ASSERT_TRUE(ids);
      EXPECT_TRUE(tokenizer.decode(*ids) == text);
    }
  }
}

TEST(Tokenizer, canBeUsedByManyThreads) {
  const Tokenizer tokenizer = made(small_gpt2());
  const auto expected = tokenizer.encode("abb ab ab").value();
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (int each = 0; each < 200; ++each) {
        EXPECT_EQ(tokenizer.encode("abb ab ab").value(), expected);
        EXPECT_EQ(tokenizer.decode(expected), "abb ab ab");
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace assay::runtime
