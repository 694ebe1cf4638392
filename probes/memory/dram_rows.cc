#include "probes/memory/dram_rows.h"

#include <fmt/core.h>

#include <algorithm>

namespace assay::probes {
namespace {

// Between 1 in 8 and 1 in 128 pairs share a bank; the two groups must stand apart by this much.
constexpr double least_share = 1.0 / 256;
constexpr double most_share = 0.3;
constexpr double least_gap = 1.06;

// Of some measurements the least: noise only adds.
double least_of(const AlternatingAccess& access, std::size_t a, std::size_t b, int times) {
  double least = access(a, b);
  for (int i = 1; i < times; ++i) least = std::min(least, access(a, b));
  return least;
}

}  // namespace

Result<double> row_conflict_threshold(const AlternatingAccess& access,
                                      std::span<const std::size_t> lines) {
  const auto none = [](const std::string& why) {
    return fail(ErrorKind::unavailable, "rows cannot be found: " + why);
  };
  if (lines.size() < 64) return none("too few lines to compare");
  std::vector<double> times;
  for (std::size_t i = 1; i < lines.size(); ++i) {
    times.push_back(least_of(access, lines[0], lines[i], 3));
  }
  std::sort(times.begin(), times.end());
  // The widest step upward in the part where it may be.
  const auto count = static_cast<double>(times.size());
  const auto first = static_cast<std::size_t>(count * (1 - most_share));
  const auto last = static_cast<std::size_t>(count * (1 - least_share));
  std::size_t at = 0;
  double widest = 0;
  for (std::size_t i = first; i + 1 < times.size() && i < last; ++i) {
    const double gap = times[i + 1] / times[i];
    if (gap > widest) {
      widest = gap;
      at = i;
    }
  }
  if (widest < least_gap) {
    return none(fmt::format("access times from {:.0f} to {:.0f} ns form one group", times.front(),
                            times.back()));
  }
  // The slower ones must be a group themselves, not some outliers.
  if (times[at] - times.front() > times[at + 1] - times[at] &&
      times.back() - times[at + 1] > times[at + 1] - times[at]) {
    return none("access times are too noisy");
  }
  return (times[at] + times[at + 1]) / 2;
}

Result<RowPair> find_row_pair(const AlternatingAccess& access, double threshold,
                              std::span<const std::size_t> lines, std::size_t above) {
  const auto conflict = [&](std::size_t a, std::size_t b) {
    return least_of(access, a, b, 3) >= threshold;
  };
  RowPair pair{.above = above};
  bool between = false;
  for (const std::size_t line : lines) {
    if (line <= above || !conflict(above, line)) continue;
    if (!between) {
      // The next row of this bank.
      pair.victim_rows.push_back(line);
      between = true;
      continue;
    }
    if (!conflict(pair.victim_rows.front(), line)) {
      pair.victim_rows.push_back(line);
      continue;
    }
    pair.below = line;
    return pair;
  }
  return fail(ErrorKind::unavailable,
              between ? "the physically contiguous run ends before the third row of the bank"
                      : "no second row of the bank in the physically contiguous run");
}

}  // namespace assay::probes
