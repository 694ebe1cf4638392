// Finds special tokens in a text.
#pragma once

#include <array>
#include <optional>
#include <string_view>
#include <vector>

#include "runtime/tokenizer/token_index.h"

namespace assay::runtime {

struct FoundSpecial {
  std::size_t at;
  std::size_t size;
  TokenId id;
};

// The control and user-defined tokens of an index, which it refers to.
class SpecialFinder {
 public:
  explicit SpecialFinder(const TokenIndex& index);

  // The first from `from` on; of those that begin at one place the longest.
  std::optional<FoundSpecial> next(std::string_view text, std::size_t from) const;

 private:
  std::optional<FoundSpecial> longest_at(std::string_view text, std::size_t at) const;

  const TokenIndex& index_;
  std::vector<TokenId> sorted_;  // by their texts
  std::array<bool, 256> begins_{};
};

}  // namespace assay::runtime
