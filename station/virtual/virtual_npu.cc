#include "station/virtual/virtual_npu.h"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <thread>

namespace assay::station {
using runtime::Mapping;
using runtime::Placement;

VirtualNpu::VirtualNpu(PageFrames frames, VirtualNpuRules rules)
    : rules_(std::move(rules)), frames_(std::move(frames)) {}

Result<Mapping> VirtualNpu::map(std::uint64_t bytes, Placement placement) {
  if (bytes == 0) return fail(ErrorKind::usage, "a mapping of 0 bytes");
  const bool scattered = placement == Placement::scattered || !rules_.contiguous;
  if (scattered && bytes > rules_.max_chunk_bytes) {
    return fail(ErrorKind::usage, fmt::format("a chunk of {} bytes; the largest is {}", bytes,
                                              rules_.max_chunk_bytes));
  }
  const std::size_t frames = (bytes + PageFrames::page_bytes - 1) / PageFrames::page_bytes;
  const std::lock_guard lock(mutex_);
  std::vector<PageFrames::Run> runs;
  if (scattered) {
    if (auto blocks = frames_.take_blocks(frames)) runs = std::move(*blocks);
  } else if (const auto run = frames_.take_run(frames, rules_.large_pages())) {
    runs.push_back(*run);
  }
  if (runs.empty()) {
    return fail(ErrorKind::exhausted, fmt::format("npu_dma_map_error: cannot map {} bytes", bytes));
  }
  auto mapping = host_.map(bytes, placement);
  if (!mapping) {
    for (const auto& run : runs) frames_.give_back(run);
    return mapping;
  }
  mapping->blocks = runs.size();
  ++generation_;
  live_[mapping->id] = {std::move(runs), mapping->id};
  return mapping;
}

void VirtualNpu::unmap(std::uint64_t id) {
  const std::lock_guard lock(mutex_);
  const auto found = live_.find(id);
  if (found == live_.end()) return;
  for (const auto& run : found->second.runs) frames_.give_back(run);
  host_.unmap(found->second.host_id);
  live_.erase(found);
  ++generation_;
}

Result<> VirtualNpu::pool_flush() {
  const std::lock_guard lock(mutex_);
  frames_.flush();
  ++generation_;
  return {};
}

Result<> VirtualNpu::pool_defragment() {
  const std::lock_guard lock(mutex_);
  if (!live_.empty()) {
    return fail(
        ErrorKind::usage,
        fmt::format("the pool has {} live mappings; defragmenting would move them", live_.size()),
        {}, "defragment before the load, never after");
  }
  frames_.compact();
  ++generation_;
  return {};
}

runtime::PoolInfo VirtualNpu::pool_info() const {
  const std::lock_guard lock(mutex_);
  return {.total_bytes = frames_.pool_bytes(),
          .free_bytes = frames_.pool_free_bytes(),
          .largest_free_block_bytes =
              frames_.largest_free_run(rules_.large_pages()).count * PageFrames::page_bytes,
          .live_mappings = live_.size()};
}

void VirtualNpu::pace(std::int64_t elapsed_ns) {
  const double ratio = clock_ratio_;
  if (ratio >= 1.0) return;
  // A slower clock takes longer for the same work.
  std::this_thread::sleep_for(std::chrono::nanoseconds(
      static_cast<std::int64_t>(static_cast<double>(elapsed_ns) * (1 / ratio - 1))));
}

std::string VirtualNpu::buddyinfo() const {
  const std::lock_guard lock(mutex_);
  return frames_.buddyinfo();
}

}  // namespace assay::station
