// The errors of a memory test: each one as it was seen, and what they have in common.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "probes/memory/background.h"

namespace assay::probes {

// One read of one word that gave something else than was written.
struct MemoryError {
  std::uint64_t offset = 0;   // in the region, bytes
  std::uint64_t region = 0;   // which one, where each iteration takes other pages
  std::uint64_t address = 0;  // virtual
  std::optional<std::uint64_t> physical;
  // Of the word whose own address was read here, where that is known: own-address data.
  std::optional<std::uint64_t> other_physical;
  std::uint64_t expected = 0;
  std::uint64_t actual = 0;
  std::uint64_t again = 0;  // read once more at once, past the caches
  std::string test;
  std::string element;     // "⇑(r0,w1)"
  unsigned operation = 0;  // of the element, from 0
  Background::Kind data = Background::Kind::uniform;
  std::uint64_t iteration = 0;  // from 1
  std::uint64_t pass = 0;       // over all iterations on the region
  bool held = false;            // read after the data was left alone: bit fade
  int processor = -1;
  std::int64_t wall_ns = 0;
  std::optional<std::int64_t> temperature_mc;

  std::uint64_t flipped() const { return expected ^ actual; }
};

// The word was written and read by itself many times after it had failed.
struct Retest {
  unsigned rounds = 0;
  unsigned failed = 0;
};

enum class WordVerdict {
  hard,          // fails each time
  intermittent,  // fails now and then, also by itself
  retention,     // failed in several passes, each time after it was left alone, and never by itself
  disturbed,  // failed in several passes and never by itself: its neighbours or the pattern do it,
              // or it fails so seldom that its retest missed it
  soft,       // failed once, and not again when the same passes ran once more
  once,       // failed once, and nothing ran again: soft, or disturbed by what came only once
  unknown,    // it was not tested by itself
};
const char* to_text(WordVerdict verdict);

struct BadWord {
  MemoryError first;
  std::uint64_t errors = 0;
  std::uint64_t held_errors = 0;  // of those, after the data was left alone
  std::uint64_t passes = 0;       // in which it failed
  std::uint64_t last_pass = 0;
  std::uint64_t last_region = 0;
  std::uint64_t last_iteration = 0;
  std::uint64_t flipped = 0;
  Retest retest;
};

// A word is the same by its physical address, however it is reached; where that is unknown, by its
// region and its offset in it.
using WordKey = std::pair<std::uint64_t, std::uint64_t>;

class ErrorLog {
 public:
  // Words kept one by one; beyond them errors are counted.
  static constexpr std::size_t most_words = 1000;

  void add(const MemoryError& error);
  // Errors that were not handed over one by one: their words and bits are not known.
  void add_uncounted(std::uint64_t errors) { uncounted_ += errors; }
  // All tests ran on the region, for that time.
  void add_iteration(std::uint64_t region, std::uint64_t iteration) {
    iterations_[region] = iteration;
  }

  std::uint64_t errors() const { return errors_ + uncounted_; }
  // Of those, without a place.
  std::uint64_t uncounted() const { return uncounted_; }
  // False when words failed that are not among words(): by far not all bad pages may be known.
  bool has_all_words() const { return uncounted_ == 0 && !words_missed_; }
  std::uint64_t flipped() const { return flipped_; }
  // "1 address", "128 or more addresses" when not all are known.
  std::string addresses() const;
  const std::map<WordKey, BadWord>& words() const { return words_; }
  BadWord& word(const WordKey& key) { return words_.at(key); }
  WordVerdict verdict_of(const BadWord& word) const;

  // How often each bit of a word flipped, of the errors handed over.
  const std::array<std::uint64_t, 64>& by_bit() const { return by_bit_; }
  std::array<std::uint64_t, 8> by_byte_lane() const;
  // Errors of the words kept, by physical MiB (by MiB of the region where that is unknown).
  std::map<std::uint64_t, std::uint64_t> by_region() const;

  // "one bit that is stuck", "one byte lane": the simplest cause that explains all of it.
  std::string likely_cause() const;

  // Pages with errors, by physical address, sorted.
  std::vector<std::uint64_t> bad_pages(std::size_t page_bytes) const;
  // Arguments that keep a kernel from those pages; empty when no physical address is known.
  // "memmap=4K$0x84e190000" (kernel documentation, kernel-parameters; x86).
  std::vector<std::string> kernel_arguments(std::size_t page_bytes) const;

 private:
  std::string cause_of(const BadWord& word) const;

  std::map<WordKey, BadWord> words_;
  std::map<std::uint64_t, std::uint64_t> iterations_;  // of each region
  std::uint64_t errors_ = 0;                           // handed over one by one
  std::uint64_t uncounted_ = 0;
  bool words_missed_ = false;
  std::uint64_t flipped_ = 0;
  std::array<std::uint64_t, 64> by_bit_{};
  // Errors of own-address data; those in which a word held the address of another, and the bits in
  // which the two differ.
  std::uint64_t address_errors_ = 0;
  std::uint64_t foreign_addresses_ = 0;
  std::uint64_t address_lines_ = 0;
  bool lines_are_physical_ = true;
};

}  // namespace assay::probes
