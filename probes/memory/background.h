// What the words of a region hold: the data that a memory test writes and expects. A March test's
// "0" is a background, its "1" the background inverted.
#pragma once

#include <cstddef>
#include <cstdint>

namespace assay::probes {

// The unit of a transfer to DRAM and of a test's order: 64 bytes, 8 words.
inline constexpr std::size_t line_bytes = 64;
inline constexpr std::size_t words_per_line = line_bytes / sizeof(std::uint64_t);

struct Background {
  enum class Kind : std::uint8_t {
    uniform,       // `value` in every word
    checkerboard,  // 0x5555... and 0xAAAA... in turn, along a line and from line to line
    address,       // each word's own address
    random,        // made from the seed `value` and the word's index
    modulo_20,     // `value` in each word whose index is `offset` modulo 20, inverted in the others
  };
  Kind kind = Kind::uniform;
  bool inverted = false;
  std::uint8_t offset = 0;  // of modulo_20
  // Of uniform: words of a line whose index has one of these bits are inverted.
  std::uint8_t inverted_words = 0;
  std::uint64_t value = 0;
};

// Of the word at `index` in a region that begins at `base_address` (a multiple of 64).
std::uint64_t word_of(const Background& background, std::uint64_t index,
                      std::uint64_t base_address);

// The same by lines, made once for a kernel: a line is table(line) with scalar(line) XORed into
// each word.
struct LineData {
  LineData(const Background& background, std::uint64_t base_address);

  static constexpr std::size_t most_tables = 5;  // lines after which modulo_20 begins anew
  alignas(line_bytes) std::uint64_t tables[most_tables][words_per_line];
  // Words that a modulo-20 operation on "chosen" words means: all ones in those.
  alignas(line_bytes) std::uint64_t chosen[most_tables][words_per_line];
  Background::Kind kind;
  std::uint64_t seed = 0;
  std::uint64_t base_address = 0;

  std::size_t table_of(std::size_t line) const {
    return kind == Background::Kind::modulo_20 ? line % most_tables : 0;
  }
  std::uint64_t scalar(std::size_t line) const {
    switch (kind) {
      case Background::Kind::uniform:
      case Background::Kind::modulo_20:
        return 0;
      case Background::Kind::checkerboard:
        return line % 2 == 0 ? 0 : ~std::uint64_t{0};
      case Background::Kind::address:
        return base_address + line * line_bytes;
      case Background::Kind::random:
        return mix(seed + line);
    }
    return 0;
  }

  // SplitMix64's finalizer (Steele, Lea, Flood 2014): neighbours in, unrelated numbers out.
  static constexpr std::uint64_t mix(std::uint64_t x) {
    x *= 0x9E3779B97F4A7C15;
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9;
    x = (x ^ (x >> 27)) * 0x94D049BB133111EB;
    return x ^ (x >> 31);
  }
};

}  // namespace assay::probes
