#include "runtime/tokenizer/token_index.h"

#include <fmt/core.h>

#include <cmath>
#include <limits>

#include "runtime/tokenizer/utf8_char.h"

namespace assay::runtime {
namespace {

// Ranks and places are kept in 32 bits; no vocabulary comes near.
constexpr std::size_t most_entries = std::numeric_limits<std::int32_t>::max();
// What a text costs grows with the longest token. Published vocabularies have up to 256 bytes.
constexpr std::size_t most_token_bytes = 4096;

Result<> check_sizes(const Vocabulary& vocabulary) {
  const std::size_t tokens = vocabulary.tokens.size();
  if (tokens == 0) return bad_vocabulary("the vocabulary has no tokens");
  if (tokens > most_entries || vocabulary.merges.size() > most_entries) {
    return bad_vocabulary("the vocabulary has more tokens or merges than can be told apart");
  }
  if (!vocabulary.types.empty() && vocabulary.types.size() != tokens) {
    return bad_vocabulary(
        fmt::format("there are {} tokens and {} token types", tokens, vocabulary.types.size()));
  }
  if (!vocabulary.scores.empty() && vocabulary.scores.size() != tokens) {
    return bad_vocabulary(
        fmt::format("there are {} tokens and {} scores", tokens, vocabulary.scores.size()));
  }
  return {};
}

Result<> check_types_and_scores(const Vocabulary& vocabulary) {
  for (std::size_t id = 0; id < vocabulary.types.size(); ++id) {
    const std::int32_t type = vocabulary.types[id];
    if (type < static_cast<std::int32_t>(TokenType::normal) ||
        type > static_cast<std::int32_t>(TokenType::byte)) {
      return bad_vocabulary(fmt::format("token {} is of an unknown type, {}", id, type));
    }
  }
  for (std::size_t id = 0; id < vocabulary.scores.size(); ++id) {
    if (std::isnan(vocabulary.scores[id])) {
      return bad_vocabulary(fmt::format("the score of token {} is not a number", id));
    }
  }
  return {};
}

Result<> check_ids(const Vocabulary& vocabulary) {
  const std::pair<const char*, std::optional<TokenId>> named[] = {{"bos", vocabulary.bos},
                                                                  {"eos", vocabulary.eos},
                                                                  {"unknown", vocabulary.unknown},
                                                                  {"padding", vocabulary.padding}};
  for (const auto& [name, id] : named) {
    if (id && *id >= vocabulary.tokens.size()) {
      return bad_vocabulary(fmt::format("the {} token is {}, and there are {} tokens", name, *id,
                                        vocabulary.tokens.size()));
    }
  }
  if (vocabulary.add_bos == true && !vocabulary.bos) {
    return bad_vocabulary("bos is to be added, and there is no bos token");
  }
  if (vocabulary.add_eos == true && !vocabulary.eos) {
    return bad_vocabulary("eos is to be added, and there is no eos token");
  }
  return {};
}

}  // namespace

std::unexpected<Error> bad_vocabulary(std::string what) {
  return fail(ErrorKind::bad_file, std::move(what), {}, "convert the model again");
}

Result<TokenIndex> TokenIndex::create(const Vocabulary& vocabulary) {
  for (const auto check : {check_sizes, check_types_and_scores, check_ids}) {
    if (auto sound = check(vocabulary); !sound) return std::unexpected(std::move(sound.error()));
  }
  TokenIndex index(vocabulary);
  index.ids_.reserve(vocabulary.tokens.size());
  for (TokenId id = 0; id < vocabulary.tokens.size(); ++id) {
    const std::string& text = vocabulary.tokens[id];
    if (text.empty()) return bad_vocabulary(fmt::format("token {} is empty", id));
    if (text.size() > most_token_bytes) {
      return bad_vocabulary(fmt::format("token {} has {} bytes, and {} are the most", id,
                                        text.size(), most_token_bytes));
    }
    if (!is_valid_utf8(text)) return bad_vocabulary(fmt::format("token {} is no valid UTF-8", id));
    const auto [place, added] = index.ids_.emplace(text, id);
    if (!added) {
      return bad_vocabulary(fmt::format("tokens {} and {} are the same text", place->second, id));
    }
  }
  return index;
}

TokenType TokenIndex::type(TokenId id) const {
  return vocabulary_->types.empty() ? TokenType::normal
                                    : static_cast<TokenType>(vocabulary_->types[id]);
}

std::optional<TokenId> TokenIndex::find(std::string_view text) const {
  const auto found = ids_.find(text);
  if (found == ids_.end()) return std::nullopt;
  return found->second;
}

std::optional<TokenId> TokenIndex::find_normal(std::string_view text) const {
  const auto id = find(text);
  return id && type(*id) == TokenType::normal ? id : std::nullopt;
}

}  // namespace assay::runtime
