#include "probes/log/log_facts.h"

#include <algorithm>
#include <bit>

#include "probes/log/log_template.h"

namespace assay::probes {
namespace {

constexpr std::uint64_t kibibytes = 1024;

std::optional<std::uint64_t> scaled_group(const LogExpression::Match& match, int group,
                                          std::uint64_t unit) {
  const auto value = number_in(match.group(group));
  return value ? std::optional(multiplied(*value, unit)) : std::nullopt;
}

// A table of 2^order pages has so many bytes; a small one less than a page, order -3.
std::optional<std::uint64_t> page_size_of(std::string_view order, std::string_view bytes) {
  const bool negative = order.starts_with('-');
  const auto shift = number_in(negative ? order.substr(1) : order);
  const auto size = number_in(bytes);
  if (!shift || *shift > 40 || !size || *size == 0) return std::nullopt;
  if (negative && *size > UINT64_MAX >> *shift) return std::nullopt;
  const std::uint64_t page = negative ? *size << *shift : *size >> *shift;
  return is_page_size(page) ? std::optional(page) : std::nullopt;
}

}  // namespace

bool is_page_size(std::uint64_t bytes) {
  return std::has_single_bit(bytes) && bytes >= 4096 && bytes <= 65536;
}

std::uint64_t longest_run(std::string_view runs) {
  std::uint64_t longest = 0;
  while (!runs.empty()) {
    const std::size_t end = std::min(runs.find('+'), runs.size());
    const std::string_view run = runs.substr(0, end);
    longest = std::max(longest, number_in(run.substr(0, run.find('@'))).value_or(0));
    runs.remove_prefix(std::min(end + 1, runs.size()));
  }
  return longest;
}

bool take_fact(LogFact fact, const LogExpression::Match& match, LogFacts& facts) {
  switch (fact) {
    case LogFact::page_order:
      if (const auto page = page_size_of(match.group(1), match.group(2))) facts.page_bytes = *page;
      return true;
    case LogFact::page_kib:
      // What is worked out from sizes is surer.
      if (!facts.page_bytes) facts.page_bytes = scaled_group(match, 1, kibibytes);
      return true;
    case LogFact::cma_area: {
      const std::string_view unit = match.group(2);
      const std::uint64_t bytes = unit == "K"   ? kibibytes
                                  : unit == "M" ? kibibytes * kibibytes
                                                : kibibytes * kibibytes * kibibytes;
      facts.cma_bytes = scaled_group(match, 1, bytes);
      return true;
    }
    case LogFact::memory:
      facts.available_bytes = scaled_group(match, 1, kibibytes);
      return true;
    case LogFact::bounce_pool:
      facts.bounce_bytes = scaled_group(match, 1, kibibytes * kibibytes);
      return true;
    case LogFact::iommu_mode:
      facts.npu = log_word(match.group(1));
      facts.npu_has_iommu = match.group(2) == "iommu";
      return true;
    case LogFact::cma_free:
      facts.cma_free = {number_in(match.group(2)).value_or(0),
                        number_in(match.group(3)).value_or(0), longest_run(match.group(1))};
      return true;
    case LogFact::kernel:
    case LogFact::suppressed:
    case LogFact::reclaim_context:
      break;
  }
  return false;
}

}  // namespace assay::probes
