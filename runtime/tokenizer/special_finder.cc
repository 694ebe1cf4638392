#include "runtime/tokenizer/special_finder.h"

#include <algorithm>
#include <cstdint>

namespace assay::runtime {

SpecialFinder::SpecialFinder(const TokenIndex& index) : index_(index) {
  for (TokenId id = 0; id < index.size(); ++id) {
    const TokenType type = index.type(id);
    if (type != TokenType::control && type != TokenType::user_defined) continue;
    sorted_.push_back(id);
    begins_[static_cast<std::uint8_t>(index.text(id)[0])] = true;
  }
  std::ranges::sort(sorted_, {}, [&](TokenId id) { return index_.text(id); });
}

// The tokens that agree with the text so far are neighbours; each byte of the text leaves fewer.
std::optional<FoundSpecial> SpecialFinder::longest_at(std::string_view text, std::size_t at) const {
  std::optional<FoundSpecial> found;
  auto first = sorted_.begin();
  auto last = sorted_.end();
  for (std::size_t depth = 0; at + depth < text.size() && first != last; ++depth) {
    const auto byte = static_cast<std::uint8_t>(text[at + depth]);
    // A token that ends here, which sorts in front of its continuations, is as byte -1.
    const auto byte_of = [&](TokenId id) {
      const std::string_view token = index_.text(id);
      return depth < token.size() ? int{static_cast<std::uint8_t>(token[depth])} : -1;
    };
    const auto range = std::ranges::equal_range(first, last, int{byte}, {}, byte_of);
    first = range.begin();
    last = range.end();
    if (first != last && index_.text(*first).size() == depth + 1) {
      found = FoundSpecial{at, depth + 1, *first};
    }
  }
  return found;
}

std::optional<FoundSpecial> SpecialFinder::next(std::string_view text, std::size_t from) const {
  for (std::size_t at = from; at < text.size(); ++at) {
    if (!begins_[static_cast<std::uint8_t>(text[at])]) continue;
    if (const auto found = longest_at(text, at)) return found;
  }
  return std::nullopt;
}

}  // namespace assay::runtime
