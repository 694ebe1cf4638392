#include "runtime/tokenizer/merge_table.h"

#include <fmt/core.h>

#include <bit>
#include <string_view>

namespace assay::runtime {
namespace {

constexpr std::uint32_t free_rank = std::numeric_limits<std::uint32_t>::max();

struct MergeParts {
  std::string_view left;
  std::string_view right;
};

std::optional<MergeParts> split_merge(std::string_view merge) {
  const std::size_t space = merge.find(' ');
  if (space == std::string_view::npos || space == 0 || space + 1 == merge.size() ||
      merge.find(' ', space + 1) != std::string_view::npos) {
    return std::nullopt;
  }
  return MergeParts{merge.substr(0, space), merge.substr(space + 1)};
}

}  // namespace

MergeTable::MergeTable(std::size_t merges)
    : slots_(std::bit_ceil(merges * 2 + 2), Slot{0, 0, {free_rank, 0}}),
      shift_(64 - std::countr_zero(slots_.size())) {}

bool MergeTable::is_free(const Slot& slot) const {
  return slot.merge.rank == free_rank;
}

// The slot of the pair, or the free one where it would be.
std::size_t MergeTable::slot_of(TokenId left, TokenId right) const {
  const std::uint64_t key = std::uint64_t{left} << 32 | right;
  // Fibonacci hashing, the key folded first: both ids move the upper bits.
  std::size_t at = (key ^ key >> 29) * 0x9E37'79B9'7F4A'7C15U >> shift_;
  while (!is_free(slots_[at]) && (slots_[at].left != left || slots_[at].right != right)) {
    at = (at + 1) & (slots_.size() - 1);
  }
  return at;
}

std::optional<Merge> MergeTable::find(TokenId left, TokenId right) const {
  const Slot& slot = slots_[slot_of(left, right)];
  if (is_free(slot)) return std::nullopt;
  return slot.merge;
}

Result<MergeTable> MergeTable::create(const std::vector<std::string>& merges,
                                      const TokenIndex& index) {
  MergeTable table(merges.size());
  const auto normal = [&](TokenId id) { return index.type(id) == TokenType::normal; };
  std::string joined;
  for (std::uint32_t rank = 0; rank < merges.size(); ++rank) {
    const auto parts = split_merge(merges[rank]);
    if (!parts) {
      return bad_vocabulary(fmt::format("merge {} is not two tokens with a space between", rank));
    }
    joined.assign(parts->left).append(parts->right);
    const auto left = index.find(parts->left);
    const auto right = index.find(parts->right);
    const auto result = index.find(joined);
    if (!left || !right) {
      return bad_vocabulary(fmt::format("merge {} is of texts that are no tokens", rank));
    }
    if (!result) return bad_vocabulary(fmt::format("merge {} makes no token", rank));
    if (!normal(*left) || !normal(*right) || !normal(*result)) continue;
    Slot& slot = table.slots_[table.slot_of(*left, *right)];
    if (!table.is_free(slot)) {
      return bad_vocabulary(fmt::format("merges {} and {} are the same", slot.merge.rank, rank));
    }
    slot = {*left, *right, {rank, *result}};
  }
  return table;
}

}  // namespace assay::runtime
