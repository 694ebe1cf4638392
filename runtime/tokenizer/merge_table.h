// The merges of byte-level BPE: what two tokens become, and in which order.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "runtime/tokenizer/merge_symbols.h"
#include "runtime/tokenizer/token_index.h"

namespace assay::runtime {

class MergeTable {
 public:
  // A merge's rank is its place. One with a token that is not normal is left out: text never
  // becomes such a token. Errors: bad_file for a merge that is not two tokens with a space between,
  // that makes no token, or that stands there twice.
  static Result<MergeTable> create(const std::vector<std::string>& merges, const TokenIndex& index);

  std::optional<Merge> find(TokenId left, TokenId right) const;

 private:
  struct Slot {
    TokenId left;
    TokenId right;
    Merge merge;
  };

  explicit MergeTable(std::size_t merges);
  std::size_t slot_of(TokenId left, TokenId right) const;
  bool is_free(const Slot& slot) const;

  // Open addressing, at most half full. Most pairs of a text have no merge: this is asked for each.
  std::vector<Slot> slots_;
  int shift_;  // 64 less the bits of a slot's number
};

}  // namespace assay::runtime
