// The tokens of a vocabulary whose contradictions have been looked for, and their ids by their
// text.
#pragma once

#include <optional>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "base/result.h"
#include "runtime/tokenizer/vocabulary.h"

namespace assay::runtime {

// Refers to the strings of the vocabulary that it was made of, which stay where they are while it
// is used. Ids given to it are below size().
class TokenIndex {
 public:
  // What does not depend on the vocabulary's model: sizes, types, ids, texts. Errors: bad_file.
  static Result<TokenIndex> create(const Vocabulary& vocabulary);

  std::size_t size() const { return vocabulary_->tokens.size(); }
  std::string_view text(TokenId id) const { return vocabulary_->tokens[id]; }
  TokenType type(TokenId id) const;
  std::optional<TokenId> find(std::string_view text) const;
  // Only a normal token, which text becomes.
  std::optional<TokenId> find_normal(std::string_view text) const;

 private:
  explicit TokenIndex(const Vocabulary& vocabulary) : vocabulary_(&vocabulary) {}

  const Vocabulary* vocabulary_;
  std::unordered_map<std::string_view, TokenId> ids_;
};

// An error about the vocabulary.
std::unexpected<Error> bad_vocabulary(std::string what);

}  // namespace assay::runtime
