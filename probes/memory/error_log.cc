#include "probes/memory/error_log.h"

#include <fmt/core.h>

#include <algorithm>
#include <bit>

namespace assay::probes {
namespace {

constexpr std::uint64_t lane_mask(unsigned lane) {
  return std::uint64_t{0xFF} << (8 * lane);
}

// Errors this close by are of one row, one bank or one chip rather than anywhere.
constexpr std::uint64_t region_bytes = std::uint64_t{1} << 20;

// So few words with nothing in common are so many faults.
constexpr std::size_t most_separate = 4;

std::uint64_t place_of(const BadWord& word) {
  return word.first.physical.value_or(word.first.offset);
}

std::string bit_name(std::uint64_t single) {
  return fmt::format("bit {}", std::countr_zero(single));
}

}  // namespace

const char* to_text(WordVerdict verdict) {
  switch (verdict) {
    case WordVerdict::hard:
      return "hard";
    case WordVerdict::intermittent:
      return "intermittent";
    case WordVerdict::retention:
      return "retention";
    case WordVerdict::disturbed:
      return "disturbed";
    case WordVerdict::soft:
      return "soft";
    case WordVerdict::once:
      return "once";
    case WordVerdict::unknown:
      return "not tested alone";
  }
  return "";
}

WordVerdict ErrorLog::verdict_of(const BadWord& word) const {
  if (word.retest.rounds == 0) return WordVerdict::unknown;
  if (word.retest.failed == word.retest.rounds) return WordVerdict::hard;
  if (word.retest.failed > 0) return WordVerdict::intermittent;
  if (word.passes > 1) {
    return word.held_errors == word.errors ? WordVerdict::retention : WordVerdict::disturbed;
  }
  const auto iterated = iterations_.find(word.last_region);
  return iterated != iterations_.end() && iterated->second > word.last_iteration
             ? WordVerdict::soft
             : WordVerdict::once;
}

void ErrorLog::add(const MemoryError& error) {
  ++errors_;
  const std::uint64_t flipped = error.flipped();
  flipped_ |= flipped;
  for (std::uint64_t rest = flipped; rest != 0; rest &= rest - 1) {
    ++by_bit_[static_cast<std::size_t>(std::countr_zero(rest))];
  }
  const bool is_address = error.data == Background::Kind::address;
  address_errors_ += is_address ? 1 : 0;
  // The other word may hold its address or, where the test has come further, that inverted. Lines
  // are wires of physical addresses; pages are where they like.
  const bool physical = error.physical && error.other_physical;
  const std::uint64_t apart = physical ? *error.physical ^ *error.other_physical
                              : std::popcount(flipped) > 32 ? ~flipped
                                                            : flipped;
  if (is_address && std::has_single_bit(apart) && apart >= line_bytes) {
    ++foreign_addresses_;
    lines_are_physical_ = lines_are_physical_ && physical;
    address_lines_ |= apart;
  }
  const WordKey key =
      error.physical ? WordKey{0, *error.physical} : WordKey{error.region + 1, error.offset};
  const auto known = words_.find(key);
  if (known == words_.end() && words_.size() >= most_words) {
    words_missed_ = true;
    return;
  }
  BadWord& word = known != words_.end() ? known->second : words_[key];
  if (word.errors == 0) word.first = error;
  const bool same_pass = word.last_pass == error.pass && word.last_region == error.region;
  if (word.passes == 0 || !same_pass) ++word.passes;
  word.last_pass = error.pass;
  word.last_region = error.region;
  word.last_iteration = error.iteration;
  ++word.errors;
  word.held_errors += error.held ? 1 : 0;
  word.flipped |= flipped;
}

std::string ErrorLog::addresses() const {
  if (!has_all_words()) return fmt::format("{} or more addresses", words_.size());
  return words_.size() == 1 ? "1 address" : fmt::format("{} addresses", words_.size());
}

std::array<std::uint64_t, 8> ErrorLog::by_byte_lane() const {
  std::array<std::uint64_t, 8> lanes{};
  for (std::size_t bit = 0; bit < by_bit_.size(); ++bit) lanes[bit / 8] += by_bit_[bit];
  return lanes;
}

std::map<std::uint64_t, std::uint64_t> ErrorLog::by_region() const {
  std::map<std::uint64_t, std::uint64_t> regions;
  for (const auto& [key, word] : words_) regions[place_of(word) / region_bytes] += word.errors;
  return regions;
}

std::string ErrorLog::likely_cause() const {
  if (words_.empty()) return {};
  // Words that hold the address of another word: two addresses reach one cell. By itself it keeps
  // what it is given, as a bit that is stuck does not.
  const bool any_hard = std::any_of(words_.begin(), words_.end(), [&](const auto& word) {
    return verdict_of(word.second) == WordVerdict::hard;
  });
  if (foreign_addresses_ > 1 && foreign_addresses_ * 2 > address_errors_ && !any_hard &&
      std::has_single_bit(address_lines_)) {
    return fmt::format("an address line: {}addresses that differ in {} reach the same cell",
                       lines_are_physical_ ? "physical " : "", bit_name(address_lines_));
  }
  if (words_.size() == 1) return cause_of(words_.begin()->second);
  // A line reaches more cells than a few.
  const bool many = words_.size() > most_separate;
  if (many && std::has_single_bit(flipped_)) {
    return fmt::format("one data line ({}) at {}: a pin, a solder joint or a trace",
                       bit_name(flipped_), addresses());
  }
  for (unsigned lane = 0; many && lane < 8; ++lane) {
    if ((flipped_ & ~lane_mask(lane)) == 0) {
      return fmt::format("one byte lane ({}) at {}: a chip, its strobe or its traces", lane,
                         addresses());
    }
  }
  std::uint64_t first = UINT64_MAX;
  std::uint64_t last = 0;
  for (const auto& [key, word] : words_) {
    first = std::min(first, place_of(word));
    last = std::max(last, place_of(word));
  }
  if (last - first < region_bytes) {
    return fmt::format("one region of {} bytes: a row, a bank or a chip", last - first + 8);
  }
  if (!many) {
    std::string all = "separate faults";
    for (const auto& [key, word] : words_) {
      all += (&word == &words_.begin()->second ? ": " : "; ") + cause_of(word);
    }
    return all;
  }
  return "all over: power, timing, temperature, or the memory controller";
}

std::string ErrorLog::cause_of(const BadWord& word) const {
  const std::string what = std::has_single_bit(word.flipped)
                               ? "one bit (" + bit_name(word.flipped) + ")"
                               : fmt::format("{} bits of one word", std::popcount(word.flipped));
  switch (verdict_of(word)) {
    case WordVerdict::hard:
      return what + " that fails each time: stuck, or a cell that is worn out";
    case WordVerdict::intermittent:
      return what + " that fails now and then: a weak cell, or a margin that is too small";
    case WordVerdict::retention:
      return what +
             " that failed each time it had been left alone, and by itself never: it loses "
             "its data (retention, refresh), unless no other test ran; then coupling, too";
    case WordVerdict::disturbed:
      return what + fmt::format(
                        " that failed in {} passes and in none of {} tries alone: coupling, when "
                        "its neighbours are written, or a weak cell that fails seldom",
                        word.passes, word.retest.rounds);
    case WordVerdict::soft:
      return what + " that failed once: a soft error";
    case WordVerdict::once:
      return what + fmt::format(
                        " that failed once and never alone: a soft error{}, or coupling that these "
                        "tests cause once; more iterations on the same pages tell",
                        word.held_errors > 0 ? ", retention" : "");
    case WordVerdict::unknown:
      return what + " that was not tested alone";
  }
  return what;
}

std::vector<std::uint64_t> ErrorLog::bad_pages(std::size_t page_bytes) const {
  std::vector<std::uint64_t> pages;
  for (const auto& [key, word] : words_) {
    if (word.first.physical) pages.push_back(*word.first.physical / page_bytes * page_bytes);
  }
  std::sort(pages.begin(), pages.end());
  pages.erase(std::unique(pages.begin(), pages.end()), pages.end());
  return pages;
}

std::vector<std::string> ErrorLog::kernel_arguments(std::size_t page_bytes) const {
  const std::vector<std::uint64_t> pages = bad_pages(page_bytes);
  std::vector<std::string> arguments;
  for (std::size_t i = 0; i < pages.size();) {
    std::size_t end = i + 1;
    while (end < pages.size() && pages[end] == pages[end - 1] + page_bytes) ++end;
    // Every digit of the address: one that is lost masks another page.
    arguments.push_back(fmt::format("memmap={}K${:#x}", (end - i) * page_bytes / 1024, pages[i]));
    i = end;
  }
  return arguments;
}

}  // namespace assay::probes
