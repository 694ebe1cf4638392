// Finds any of many fixed texts in a line: the filter in front of everything else, since almost no
// line of a log says anything. S. Wu and U. Manber, "A fast algorithm for multi-pattern searching",
// University of Arizona TR-94-17, 1994: blocks of three bytes tell how far ahead no text can end.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>
#include <vector>

namespace assay::probes {

// Immutable once made, so safe from any thread.
class LiteralSet {
 public:
  static constexpr std::size_t block_bytes = 3;

  // Each text has at least block_bytes bytes; the shortest one bounds how far a step can reach.
  // They are known by their index and must outlive the set.
  explicit LiteralSet(std::span<const std::string_view> texts);

  // Calls on_hit(index) for each text where it occurs, by the place where its first shortest()
  // bytes end, until one returns true. True when one did.
  template <class OnHit>
  bool each(std::string_view line, OnHit on_hit) const {
    if (line.size() < shortest_) return false;
    const char* const begin = line.data();
    const std::size_t last = line.size() - block_bytes;
    for (std::size_t at = shortest_ - block_bytes; at <= last;) {
      const std::uint32_t hash = hash_of(begin + at);
      if (const std::uint8_t step = steps_[hash]; step != 0) {
        at += step;
        continue;
      }
      const std::size_t start = at + block_bytes - shortest_;
      for (std::size_t i = first_[hash]; i < first_[hash + 1]; ++i) {
        const std::string_view text = texts_[by_hash_[i]];
        if (line.size() - start >= text.size() &&
            std::memcmp(begin + start, text.data(), text.size()) == 0 && on_hit(by_hash_[i])) {
          return true;
        }
      }
      ++at;
    }
    return false;
  }

  std::size_t shortest() const { return shortest_; }

 private:
  static constexpr unsigned hash_bits = 13;
  static constexpr std::size_t hashes = std::size_t{1} << hash_bits;

  static std::uint32_t hash_of(const char* block) {
    const auto byte = [block](int i) {
      return static_cast<std::uint32_t>(static_cast<unsigned char>(block[i]));
    };
    // Knuth's multiplicative hashing: the high bits depend on all three bytes.
    return ((byte(0) | byte(1) << 8 | byte(2) << 16) * 2654435761U) >> (32 - hash_bits);
  }

  std::vector<std::string_view> texts_;
  std::size_t shortest_ = 0;
  std::array<std::uint8_t, hashes> steps_{};
  // The texts whose first shortest_ bytes end in a block of each hash: those at
  // [first_[hash], first_[hash + 1]) of by_hash_.
  std::array<std::uint16_t, hashes + 1> first_{};
  std::vector<std::uint16_t> by_hash_;
};

}  // namespace assay::probes
