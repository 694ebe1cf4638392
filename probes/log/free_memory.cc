#include "probes/log/free_memory.h"

#include <algorithm>
#include <charconv>

#include "base/utf8.h"

namespace assay::probes {
namespace {

// Nodes times zones of a large server; and orders of a kernel with 4 KiB pages that joins up to
// 1 GiB.
constexpr std::size_t most_zones = 64;
constexpr std::size_t most_orders = 20;
constexpr std::uint64_t kibibyte = 1024;

// A number at the start of the text, which is taken away.
template <class Number>
std::optional<Number> take_number(std::string_view& text) {
  Number number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{}) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return number;
}

bool take_text(std::string_view& text, std::string_view wanted) {
  if (!text.starts_with(wanted)) return false;
  text.remove_prefix(wanted.size());
  return true;
}

// "5*16kB (UM) ".
std::optional<FreeBlocks> take_blocks(std::string_view& text) {
  std::string_view ahead = text;
  const auto count = take_number<std::uint64_t>(ahead);
  if (!count || !take_text(ahead, "*")) return std::nullopt;
  const auto size = take_number<std::uint64_t>(ahead);
  if (!size || *size == 0 || *size > UINT64_MAX / kibibyte || !take_text(ahead, "kB")) {
    return std::nullopt;
  }
  FreeBlocks blocks{*size * kibibyte, *count, {}};
  take_text(ahead, " ");
  if (take_text(ahead, "(")) {
    const std::size_t end = std::min(ahead.find(')'), ahead.size());
    blocks.types = ahead.substr(0, std::min<std::size_t>(end, 8));
    ahead.remove_prefix(std::min(end + 1, ahead.size()));
    take_text(ahead, " ");
  }
  text = ahead;
  return blocks;
}

std::optional<FreeZone> parse_zone(std::string_view text) {
  FreeZone zone;
  if (take_text(text, "Node ")) {
    const auto node = take_number<int>(text);
    if (!node || !take_text(text, " ")) return std::nullopt;
    zone.node = *node;
  }
  const std::size_t colon = text.find(": ");
  if (colon == text.npos || colon == 0 || colon > 16) return std::nullopt;
  const std::string_view name = text.substr(0, colon);
  if (name.find(' ') != name.npos) return std::nullopt;
  zone.name = to_printable(name);
  text.remove_prefix(colon + 2);
  while (zone.blocks.size() < most_orders) {
    auto blocks = take_blocks(text);
    if (!blocks) break;
    zone.blocks.push_back(std::move(*blocks));
  }
  if (zone.blocks.empty()) return std::nullopt;
  zone.is_whole = text.starts_with("= ");
  return zone;
}

std::uint64_t bytes_of(const FreeBlocks& blocks) {
  std::uint64_t bytes = 0;
  if (__builtin_mul_overflow(blocks.block_bytes, blocks.count, &bytes)) return UINT64_MAX;
  return bytes;
}

void add_saturated(std::uint64_t& sum, std::uint64_t more) {
  if (__builtin_add_overflow(sum, more, &sum)) sum = UINT64_MAX;
}

// Whether `flag` is one of "0x...(A|B|C)".
bool has_flag(std::string_view mode, std::string_view flag) {
  for (std::size_t at = mode.find(flag); at != mode.npos; at = mode.find(flag, at + 1)) {
    const char before = at == 0 ? '(' : mode[at - 1];
    const std::size_t end = at + flag.size();
    const char after = end == mode.size() ? ')' : mode[end];
    if ((before == '(' || before == '|') && (after == ')' || after == '|')) return true;
  }
  return false;
}

struct Request {
  bool dma = false;
  bool dma32 = false;
  bool movable = false;
  bool high = false;
  bool is_known = false;

  explicit Request(std::string_view mode)
      : dma(has_flag(mode, "GFP_DMA") || has_flag(mode, "__GFP_DMA")),
        dma32(has_flag(mode, "GFP_DMA32") || has_flag(mode, "__GFP_DMA32")),
        movable(has_flag(mode, "GFP_HIGHUSER_MOVABLE") || has_flag(mode, "__GFP_MOVABLE") ||
                has_flag(mode, "GFP_TRANSHUGE") || has_flag(mode, "GFP_TRANSHUGE_LIGHT")),
        high(movable || has_flag(mode, "GFP_HIGHUSER") || has_flag(mode, "__GFP_HIGHMEM")),
        is_known(mode.find('(') != mode.npos) {}

  // include/linux/gfp.h, gfp_zone(): a zone serves requests for it and for those above.
  bool may_use(std::string_view zone) const {
    if (!is_known) return true;
    if (dma) return zone == "DMA";
    if (dma32) return zone == "DMA" || zone == "DMA32";
    if (zone == "Movable") return movable;
    if (zone == "HighMem") return high;
    return true;
  }
  // Whether blocks of these types may be taken: not those that are only CMA's, a reserve's, or
  // isolated.
  bool may_take(std::string_view types) const {
    if (types.empty()) return true;
    return types.find_first_not_of(movable ? "HI" : "CHI") != types.npos;
  }
};

}  // namespace

bool FreeMemory::add(std::string_view message) {
  const std::size_t first = std::min(message.find_first_not_of(' '), message.size());
  message.remove_prefix(first);
  if (auto zone = parse_zone(message)) {
    const bool known = std::any_of(zones_.begin(), zones_.end(), [&](const FreeZone& one) {
      return one.node == zone->node && one.name == zone->name;
    });
    if (!known && zones_.size() < most_zones) zones_.push_back(std::move(*zone));
    return true;
  }
  std::string_view rest = message;
  const auto pages = take_number<std::uint64_t>(rest);
  if (!pages || !rest.starts_with(" pages cma reserved")) return false;
  if (!cma_pages_) cma_pages_ = *pages;
  return true;
}

std::optional<std::uint64_t> FreeMemory::page_bytes() const {
  if (zones_.empty()) return std::nullopt;
  return zones_.front().blocks.front().block_bytes;
}

std::uint64_t FreeMemory::free_bytes() const {
  std::uint64_t sum = 0;
  for (const FreeZone& zone : zones_) {
    for (const FreeBlocks& blocks : zone.blocks) add_saturated(sum, bytes_of(blocks));
  }
  return sum;
}

bool FreeMemory::is_whole() const {
  return std::all_of(zones_.begin(), zones_.end(),
                     [](const FreeZone& zone) { return zone.is_whole; });
}

UsableMemory FreeMemory::usable_for(std::string_view mode) const {
  const Request request(mode);
  UsableMemory usable;
  bool all = true;
  std::vector<std::string_view> names;
  for (const FreeZone& zone : zones_) {
    if (!request.may_use(zone.name)) {
      all = false;
      continue;
    }
    if (std::find(names.begin(), names.end(), zone.name) == names.end()) {
      names.push_back(zone.name);
    }
    for (const FreeBlocks& blocks : zone.blocks) {
      add_saturated(usable.free_bytes, bytes_of(blocks));
      if (blocks.count == 0 || !request.may_take(blocks.types)) continue;
      add_saturated(usable.usable_bytes, bytes_of(blocks));
      usable.largest_bytes = std::max(usable.largest_bytes, blocks.block_bytes);
    }
  }
  if (all) return usable;
  for (const std::string_view name : names) {
    usable.zones += (usable.zones.empty() ? "" : ", ") + std::string(name);
  }
  return usable;
}

}  // namespace assay::probes
