// Joins neighbours until no pair can be joined: always the pair of the lowest rank, of equal ones
// the leftmost. Both kinds of BPE are this; they differ in what a pair's rank is.
//
// The symbols are a linked list in one array, the pairs wait in a heap. A pair whose symbols have
// changed since is passed over when its turn comes: O(n log n).
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "runtime/tokenizer/vocabulary.h"

namespace assay::runtime {

// A stretch of a text.
struct Symbol {
  std::uint32_t begin;
  std::uint32_t size;  // 0 when it was joined to the one before
  TokenId id;
  std::uint32_t before = 0;  // set by merge_symbols()
  std::uint32_t after = 0;
};

struct Merge {
  std::uint32_t rank;
  TokenId result;
};

// The heap of merge_symbols(), kept by the caller so that many short texts need no memory each.
struct WaitingPair {
  std::uint64_t order;  // rank, then the place of the left symbol
  std::uint32_t right;
  std::uint32_t size;
  TokenId result;

  std::uint32_t left() const { return static_cast<std::uint32_t>(order); }
};

// `find(left, right)` is the Merge of two neighbours, if they have one.
template <class Find>
void merge_symbols(std::vector<Symbol>& symbols, std::vector<WaitingPair>& heap, const Find& find) {
  constexpr std::uint32_t none = std::numeric_limits<std::uint32_t>::max();
  const auto is_later = [](const WaitingPair& a, const WaitingPair& b) {
    return a.order > b.order;
  };
  const auto count = static_cast<std::uint32_t>(symbols.size());
  const auto pair_at = [&](std::uint32_t left, std::uint32_t right) -> bool {
    const std::optional<Merge> merge = find(symbols[left], symbols[right]);
    if (!merge) return false;
    heap.push_back({std::uint64_t{merge->rank} << 32 | left, right,
                    symbols[left].size + symbols[right].size, merge->result});
    return true;
  };
  heap.clear();
  for (std::uint32_t i = 0; i < count; ++i) {
    symbols[i].before = i == 0 ? none : i - 1;
    symbols[i].after = i + 1 == count ? none : i + 1;
    if (i > 0) pair_at(i - 1, i);
  }
  std::make_heap(heap.begin(), heap.end(), is_later);
  while (!heap.empty()) {
    std::pop_heap(heap.begin(), heap.end(), is_later);
    const WaitingPair pair = heap.back();
    heap.pop_back();
    Symbol& left = symbols[pair.left()];
    Symbol& right = symbols[pair.right];
    // When both are there and cover what they did, they are neighbours still.
    if (left.size == 0 || right.size == 0 || left.size + right.size != pair.size) continue;
    left.size = pair.size;
    left.id = pair.result;
    left.after = right.after;
    right.size = 0;
    if (left.after != none) symbols[left.after].before = pair.left();
    if (left.before != none && pair_at(left.before, pair.left())) {
      std::push_heap(heap.begin(), heap.end(), is_later);
    }
    if (left.after != none && pair_at(pair.left(), left.after)) {
      std::push_heap(heap.begin(), heap.end(), is_later);
    }
  }
}

}  // namespace assay::runtime
