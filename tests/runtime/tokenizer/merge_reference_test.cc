// Both kinds of BPE against the plainest way to do it: look at all pairs, join the best, begin
// again.
#include <gtest/gtest.h>

#include <map>
#include <optional>
#include <random>

#include "runtime/tokenizer/pre_tokenizer.h"
#include "runtime/tokenizer/utf8_char.h"
#include "tests/runtime/tokenizer/vocabularies.h"

namespace assay::runtime {
namespace {

using Pieces = std::vector<std::string>;
using Pair = std::pair<std::string, std::string>;

// `better(a, b)` orders what `value(left, right)` says of a pair that can be joined.
template <class Value, class Better>
Pieces joined_one_by_one(Pieces pieces, const Value& value, const Better& better) {
  while (true) {
    std::optional<std::size_t> best;
    for (std::size_t i = 0; i + 1 < pieces.size(); ++i) {
      const auto here = value(pieces[i], pieces[i + 1]);
      if (here && (!best || better(*here, *value(pieces[*best], pieces[*best + 1])))) best = i;
    }
    if (!best) return pieces;
    pieces[*best] += pieces[*best + 1];
    pieces.erase(pieces.begin() + static_cast<std::ptrdiff_t>(*best) + 1);
  }
}

std::string random_text(std::mt19937& random, const Pieces& atoms, std::size_t most) {
  std::string text;
  for (auto left = random() % (most + 1); left > 0; --left) text += atoms[random() % atoms.size()];
  return text;
}

TEST(ByteLevelBpe, joinsAsTheLowestRankOfAllPairsSays) {
  std::mt19937 random(7);
  const Pieces atoms = {"a", "b", "c", " ", "\u00E9", "\xFF", "1", "'", "\n"};
  for (int round = 0; round < 60; ++round) {
    Pieces known;
    for (const std::string& atom : atoms) {
      for (const char byte : atom) known.emplace_back(1, byte);
    }
    std::map<std::string, TokenId> ids;
    for (unsigned byte = 0; byte < 256; ++byte) ids[std::string(1, static_cast<char>(byte))] = byte;
    std::vector<Pair> merges;
    std::map<Pair, std::size_t> ranks;
    while (merges.size() < 40) {
      const Pair merge{known[random() % known.size()], known[random() % known.size()]};
      const std::string result = merge.first + merge.second;
      if (!ids.emplace(result, static_cast<TokenId>(256 + merges.size())).second) continue;
      ranks[merge] = merges.size();
      merges.push_back(merge);
      known.push_back(result);
    }
    // A second way to the same token, as llama-3's merges have.
    auto vocabulary = test::gpt2_vocabulary("gpt-2", merges);
    for (std::size_t i = 0; i < merges.size(); ++i) {
      const std::string text = merges[i].first + merges[i].second;
      for (std::size_t cut = 1; cut < text.size(); ++cut) {
        const Pair other{text.substr(0, cut), text.substr(cut)};
        if (!ids.contains(other.first) || !ids.contains(other.second)) continue;
        if (!ranks.emplace(other, vocabulary.merges.size()).second) continue;
        vocabulary.merges.push_back(test::in_letters(other.first) + " " +
                                    test::in_letters(other.second));
      }
    }
    const Tokenizer tokenizer = test::made(std::move(vocabulary));
    const auto rank_of = [&](const std::string& left,
                             const std::string& right) -> std::optional<std::size_t> {
      const auto found = ranks.find({left, right});
      if (found == ranks.end()) return std::nullopt;
      return found->second;
    };
    for (int each = 0; each < 100; ++each) {
      const std::string text = random_text(random, atoms, 60);
      std::vector<TokenId> expected;
      for (std::string_view rest = text; !rest.empty();) {
        const std::size_t size = first_part(PreTokenizer::gpt2, rest);
        Pieces bytes;
        for (const char byte : rest.substr(0, size)) bytes.emplace_back(1, byte);
        rest.remove_prefix(size);
        for (const std::string& piece : joined_one_by_one(bytes, rank_of, std::less<>())) {
          expected.push_back(ids.at(piece));
        }
      }
      ASSERT_EQ(tokenizer.encode(text).value(), expected) << testing::PrintToString(text);
      ASSERT_EQ(tokenizer.decode(expected), text);
    }
  }
}

TEST(SentencePieceBpe, joinsAsTheHighestScoreOfAllPairsSays) {
  std::mt19937 random(11);
  const std::string mark = "\u2581";
  const Pieces atoms = {"a", "b", "c", mark, "\u00E9", "\u8A9E"};
  for (int round = 0; round < 60; ++round) {
    auto vocabulary = test::llama_vocabulary({});
    std::map<std::string, TokenId> ids;
    std::map<std::string, float> scores;
    while (ids.size() < 60) {
      std::string piece = random_text(random, atoms, 5);
      if (piece.empty() || ids.contains(piece)) continue;
      // Few values, so that many are equal.
      const float score = -static_cast<float>(random() % 12);
      scores[piece] = score;
      ids[piece] = test::add_token(vocabulary, piece, score);
    }
    vocabulary.add_bos = false;
    const Tokenizer tokenizer = test::made(std::move(vocabulary));
    const auto score_of = [&](const std::string& left,
                              const std::string& right) -> std::optional<float> {
      const auto found = scores.find(left + right);
      if (found == scores.end()) return std::nullopt;
      return found->second;
    };
    const Pieces inputs = {"a", "b", "c", " ", "\u00E9", "\u8A9E", "z", "\xE2\x96", "\u20AC"};
    for (int each = 0; each < 100; ++each) {
      const std::string text = random_text(random, inputs, 40);
      Pieces characters;
      if (!text.empty()) characters.push_back(mark);
      for (std::string_view rest = text; !rest.empty();) {
        const std::size_t size = first_char(rest).size;
        characters.push_back(rest[0] == ' ' ? mark : std::string(rest.substr(0, size)));
        rest.remove_prefix(size);
      }
      std::vector<TokenId> expected;
      for (const std::string& piece : joined_one_by_one(characters, score_of, std::greater<>())) {
        if (const auto id = ids.find(piece); id != ids.end()) {
          expected.push_back(id->second);
          continue;
        }
        for (const char byte : piece == mark ? " " : piece) {
          expected.push_back(3U + static_cast<std::uint8_t>(byte));
        }
      }
      ASSERT_EQ(tokenizer.encode(text).value(), expected) << testing::PrintToString(text);
      ASSERT_EQ(tokenizer.decode(expected), text);
    }
  }
}

}  // namespace
}  // namespace assay::runtime
