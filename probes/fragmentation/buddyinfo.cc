#include "probes/fragmentation/buddyinfo.h"

#include <algorithm>
#include <charconv>
#include <cmath>

namespace assay::probes {
namespace {

constexpr std::size_t max_zones = 4096;
constexpr std::size_t max_orders = 64;
// More free blocks than any machine has; keeps the sums in range.
constexpr std::uint64_t max_blocks = std::uint64_t{1} << 40;

std::string_view next_word(std::string_view& line) {
  const std::size_t begin = std::min(line.find_first_not_of(" \t\r"), line.size());
  line.remove_prefix(begin);
  const std::size_t end = std::min(line.find_first_of(" \t\r"), line.size());
  const std::string_view word = line.substr(0, end);
  line.remove_prefix(end);
  return word;
}

template <class T>
bool parse_number(std::string_view word, T& value) {
  const auto [at, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  return error == std::errc{} && at == word.data() + word.size();
}

// "Node 0, zone   Normal    153      1    174 ..."
bool parse_zone(std::string_view line, BuddyZone& zone) {
  if (next_word(line) != "Node") return false;
  std::string_view node = next_word(line);
  if (!node.ends_with(',')) return false;
  node.remove_suffix(1);
  if (!parse_number(node, zone.node) || next_word(line) != "zone") return false;
  zone.zone = next_word(line);
  for (std::string_view word = next_word(line); !word.empty(); word = next_word(line)) {
    std::uint64_t blocks = 0;
    if (!parse_number(word, blocks) || blocks > max_blocks || zone.blocks.size() >= max_orders) {
      return false;
    }
    zone.blocks.push_back(blocks);
  }
  return !zone.zone.empty() && !zone.blocks.empty();
}

// In floating point: a file that lies must not wrap them.
struct FreeCounts {
  double pages = 0;
  double blocks = 0;
  double usable_pages = 0;  // in blocks of the order or above
};

FreeCounts count_free(const BuddyZone& zone, int order) {
  FreeCounts counts;
  for (std::size_t i = 0; i < zone.blocks.size(); ++i) {
    const double blocks = static_cast<double>(zone.blocks[i]);
    const double pages = std::ldexp(blocks, static_cast<int>(i));
    counts.blocks += blocks;
    counts.pages += pages;
    if (static_cast<int>(i) >= order) counts.usable_pages += pages;
  }
  return counts;
}

}  // namespace

Result<BuddyInfo> parse_buddyinfo(std::string_view text) {
  BuddyInfo info;
  for (int number = 1; !text.empty(); ++number) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.find_first_not_of(" \t\r") == line.npos) continue;
    BuddyZone zone;
    if (!parse_zone(line, zone) || info.zones.size() >= max_zones) {
      return fail(ErrorKind::protocol,
                  "line " + std::to_string(number) +
                      " is not \"Node N, zone NAME\" with a count for each order",
                  "/proc/buddyinfo");
    }
    info.zones.push_back(std::move(zone));
  }
  if (info.zones.empty()) return fail(ErrorKind::protocol, "has no zone", "/proc/buddyinfo");
  return info;
}

std::uint64_t BuddyInfo::free_bytes(std::uint64_t page_bytes) const {
  // In floating point: exact for any machine, and large for a file that lies, never wrapped.
  double bytes = 0;
  for (const BuddyZone& zone : zones) {
    for (std::size_t order = 0; order < zone.blocks.size(); ++order) {
      bytes += std::ldexp(static_cast<double>(zone.blocks[order]), static_cast<int>(order)) *
               static_cast<double>(page_bytes);
    }
  }
  constexpr double largest = 9.2e18;
  return static_cast<std::uint64_t>(std::min(bytes, largest));
}

int BuddyInfo::largest_order() const {
  int largest = -1;
  for (const BuddyZone& zone : zones) {
    for (std::size_t order = 0; order < zone.blocks.size(); ++order) {
      if (zone.blocks[order] > 0) largest = std::max(largest, static_cast<int>(order));
    }
  }
  return largest;
}

double unusable_index(const BuddyZone& zone, int order) {
  const FreeCounts counts = count_free(zone, order);
  return counts.pages == 0 ? 1 : (counts.pages - counts.usable_pages) / counts.pages;
}

std::optional<double> fragmentation_index(const BuddyZone& zone, int order) {
  const FreeCounts counts = count_free(zone, order);
  if (counts.blocks == 0 || counts.usable_pages > 0) return std::nullopt;
  // In thousandths and whole numbers, as the kernel does.
  const double requested = std::ldexp(1.0, order);
  const double per_request = std::floor(counts.pages * 1000 / requested);
  return (1000 - std::floor((1000 + per_request) / counts.blocks)) / 1000;
}

double BuddyInfo::unusable_index(int order) const {
  FreeCounts all;
  for (const BuddyZone& zone : zones) {
    const FreeCounts counts = count_free(zone, order);
    all.pages += counts.pages;
    all.usable_pages += counts.usable_pages;
  }
  return all.pages == 0 ? 1 : (all.pages - all.usable_pages) / all.pages;
}

}  // namespace assay::probes
