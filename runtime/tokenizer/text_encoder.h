// Text without special tokens to ids: one implementation for each kind of vocabulary.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "runtime/tokenizer/vocabulary.h"

namespace assay::runtime {

// Const calls are safe from any thread.
class TextEncoder {
 public:
  TextEncoder() = default;
  TextEncoder(const TextEncoder&) = delete;
  TextEncoder& operator=(const TextEncoder&) = delete;
  virtual ~TextEncoder() = default;

  // Appends the ids of a text of its own, of at most 1 GiB; none for an empty one.
  virtual void append(std::string_view text, std::vector<TokenId>& ids) const = 0;

  // The bytes that a normal or byte token stands for.
  virtual std::string bytes_of(TokenId id) const = 0;
};

}  // namespace assay::runtime
