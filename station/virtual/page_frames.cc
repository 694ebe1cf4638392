#include "station/virtual/page_frames.h"

#include <fmt/core.h>

#include <algorithm>
#include <random>

namespace assay::station {
namespace {

constexpr std::size_t dma32_frames = (std::size_t{4} << 30) / PageFrames::page_bytes;
// Of memory outside the pool, what the kernel and processes hold after boot.
constexpr double kernel_share = 0.04;
constexpr double process_share = 0.18;
// Pages that strayed into the pool before it was set aside.
constexpr std::size_t strays = 3000;
constexpr std::size_t leftovers = 400;
constexpr std::size_t leftover_frames = 256;

}  // namespace

PageFrames::PageFrames(std::uint64_t memory_bytes, std::uint64_t pool_bytes,
                       std::uint64_t driver_bytes, int largest_order, std::uint64_t seed)
    : frames_(memory_bytes / page_bytes, Holder::free),
      block_frames_(std::size_t{1} << largest_order),
      largest_order_(largest_order) {
  std::mt19937_64 random(seed);
  const std::size_t pool_frames = pool_bytes / page_bytes;
  pool_.count = pool_frames;
  pool_.first = (frames_.size() - pool_frames) / 2 / block_frames_ * block_frames_;
  const std::size_t driver_frames = driver_bytes / page_bytes;
  std::fill_n(frames_.begin() + static_cast<std::ptrdiff_t>(pool_.first), driver_frames,
              Holder::pool_driver);

  const auto scatter = [&](std::size_t first, std::size_t last, std::size_t total,
                           std::size_t longest, Holder holder) {
    for (std::size_t taken = 0; taken < total;) {
      const std::size_t length = 1 + random() % longest;
      const std::size_t at = first + random() % (last - first - length);
      for (std::size_t i = at; i < at + length; ++i) {
        if (frames_[i] == Holder::free) frames_[i] = holder;
      }
      taken += length;
    }
  };
  const auto outside = [&](double share, std::size_t longest, Holder holder) {
    const auto of = [&](std::size_t count) {
      return static_cast<std::size_t>(share * static_cast<double>(count));
    };
    const std::size_t pool_end = pool_.first + pool_.count;
    scatter(0, pool_.first, of(pool_.first), longest, holder);
    scatter(pool_end, frames_.size(), of(frames_.size() - pool_end), longest, holder);
  };
  // The kernel's pages come in large pieces, so that movable ones are what breaks up the rest.
  outside(kernel_share, 2048, Holder::kernel);
  outside(process_share, 512, Holder::process);
  const std::size_t pool_begin = pool_.first + driver_frames;
  const std::size_t pool_end = pool_.first + pool_.count;
  scatter(pool_begin, pool_end, strays, 4, Holder::process);
  scatter(pool_begin, pool_end, leftovers * leftover_frames, leftover_frames, Holder::leftover);
}

void PageFrames::pin_in_pool(int pages) {
  for (int i = 0; i < pages; ++i) {
    // Evenly: no run between two of them is longer than 1/(pages + 1) of the pool.
    const std::size_t at = pool_.first + pool_.count * static_cast<std::size_t>(i + 1) /
                                             static_cast<std::size_t>(pages + 1);
    if (frames_[at] != Holder::pool_driver) frames_[at] = Holder::stuck;
  }
}

PageFrames::Run PageFrames::largest_free_run(bool joins_blocks) const {
  Run largest;
  Run run;
  for (std::size_t i = pool_.first; i < pool_.first + pool_.count; ++i) {
    const bool block_border = !joins_blocks && i % block_frames_ == 0;
    if (frames_[i] != Holder::free) {
      run.count = 0;
      continue;
    }
    if (run.count == 0 || block_border) run = {i, 0};
    ++run.count;
    if (run.count > largest.count) largest = run;
  }
  return largest;
}

std::uint64_t PageFrames::pool_free_bytes() const {
  const auto begin = frames_.begin() + static_cast<std::ptrdiff_t>(pool_.first);
  return static_cast<std::uint64_t>(
             std::count(begin, begin + static_cast<std::ptrdiff_t>(pool_.count), Holder::free)) *
         page_bytes;
}

std::optional<PageFrames::Run> PageFrames::take_run(std::size_t frames, bool joins_blocks) {
  Run run = largest_free_run(joins_blocks);
  if (run.count < frames) return std::nullopt;
  run.count = frames;
  std::fill_n(frames_.begin() + static_cast<std::ptrdiff_t>(run.first), frames, Holder::mapping);
  return run;
}

std::optional<std::vector<PageFrames::Run>> PageFrames::take_blocks(std::size_t frames) {
  std::vector<Run> runs;
  std::size_t taken = 0;
  std::size_t i = std::max(search_from_, pool_.first);
  for (; i < pool_.first + pool_.count && taken < frames; ++i) {
    if (frames_[i] != Holder::free) continue;
    const bool extends =
        !runs.empty() && runs.back().first + runs.back().count == i && i % block_frames_ != 0;
    if (!extends) runs.push_back({i, 0});
    ++runs.back().count;
    ++taken;
  }
  if (taken < frames) return std::nullopt;
  search_from_ = i;
  for (const Run& run : runs) {
    std::fill_n(frames_.begin() + static_cast<std::ptrdiff_t>(run.first), run.count,
                Holder::mapping);
  }
  return runs;
}

void PageFrames::give_back(const Run& run) {
  search_from_ = std::min(search_from_, run.first);
  std::fill_n(frames_.begin() + static_cast<std::ptrdiff_t>(run.first), run.count, Holder::free);
}

std::uint64_t PageFrames::flush() {
  search_from_ = 0;
  std::uint64_t freed = 0;
  for (std::size_t i = pool_.first; i < pool_.first + pool_.count; ++i) {
    if (frames_[i] != Holder::leftover) continue;
    frames_[i] = Holder::free;
    freed += page_bytes;
  }
  return freed;
}

std::uint64_t PageFrames::compact() {
  search_from_ = 0;
  std::uint64_t moved = 0;
  std::size_t target = 0;
  for (std::size_t i = pool_.first; i < pool_.first + pool_.count; ++i) {
    if (frames_[i] != Holder::process) continue;
    while (target < frames_.size() && frames_[target] != Holder::free) {
      ++target;
      if (target == pool_.first) target += pool_.count;
    }
    if (target >= frames_.size()) break;
    frames_[target] = Holder::process;
    frames_[i] = Holder::free;
    moved += page_bytes;
  }
  return moved;
}

std::string PageFrames::buddyinfo() const {
  const std::size_t orders = static_cast<std::size_t>(largest_order_) + 1;
  const auto zone_line = [&](const char* name, std::size_t first, std::size_t last) {
    std::vector<std::uint64_t> blocks(orders);
    for (std::size_t i = first; i < last;) {
      if (frames_[i] != Holder::free || (i >= pool_.first && i < pool_.first + pool_.count)) {
        ++i;
        continue;
      }
      // The largest aligned free block that begins here.
      std::size_t run = 1;
      while (run < block_frames_ && i + run < last && frames_[i + run] == Holder::free &&
             !(i + run >= pool_.first && i + run < pool_.first + pool_.count)) {
        ++run;
      }
      int order = 0;
      while (order < largest_order_ && (std::size_t{2} << order) <= run &&
             i % (std::size_t{2} << order) == 0) {
        ++order;
      }
      ++blocks[static_cast<std::size_t>(order)];
      i += std::size_t{1} << order;
    }
    std::string line = fmt::format("Node 0, zone {:>8}", name);
    for (const std::uint64_t count : blocks) line += fmt::format(" {:>6}", count);
    return line + " \n";
  };
  const std::size_t split = std::min(dma32_frames, frames_.size());
  std::string text = zone_line("DMA32", 0, split);
  if (split < frames_.size()) text += zone_line("Normal", split, frames_.size());
  return text;
}

}  // namespace assay::station
