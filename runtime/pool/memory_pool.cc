#include "runtime/pool/memory_pool.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "base/machine.h"
#include "base/page_map.h"
#include "runtime/pool/huge_page_counts.h"

namespace assay::runtime {
namespace {

// Best effort: without root the memory is as it is.
void compact_memory() {
  const auto file = Machine().open("/proc/sys/vm/compact_memory", O_WRONLY);
  if (file) (void)!::write(file->get(), "1", 1);
}

}  // namespace

Result<std::unique_ptr<MemoryPool>> MemoryPool::create(std::uint64_t bytes) {
  auto pages = PoolPages::take(bytes);
  if (!pages) return std::unexpected(pages.error());
  return std::unique_ptr<MemoryPool>(new MemoryPool(std::move(*pages)));
}

MemoryPool::MemoryPool(std::unique_ptr<PoolPages> pages) : pages_(std::move(pages)) {
  reset_ranges();
}

void MemoryPool::reset_ranges() {
  ranges_.clear();
  if (pages_) ranges_[0] = {.bytes = pages_->memory().size()};
}

std::optional<std::uint64_t> MemoryPool::place_in(const Ranges::value_type& range,
                                                  std::uint64_t bytes, Placement placement) const {
  const auto& [offset, free] = range;
  if (free.state != Range::State::free || free.bytes < bytes) return std::nullopt;
  if (placement == Placement::scattered) return offset;
  const auto& runs = pages_->runs();
  auto run = std::upper_bound(runs.begin(), runs.end(), offset,
                              [](std::uint64_t at, const PhysicalRun& r) { return at < r.offset; });
  for (--run; run != runs.end() && run->offset < offset + free.bytes; ++run) {
    const std::uint64_t first = std::max(run->offset, offset);
    const std::uint64_t last = std::min(run->offset + run->bytes, offset + free.bytes);
    if (last - first >= bytes) return first;
  }
  return std::nullopt;
}

std::uint64_t MemoryPool::runs_in(std::uint64_t offset, std::uint64_t bytes) const {
  std::uint64_t count = 0;
  for (const PhysicalRun& run : pages_->runs()) {
    if (run.offset < offset + bytes && offset < run.offset + run.bytes) ++count;
  }
  return count;
}

MemoryPool::Ranges::iterator MemoryPool::split(Ranges::iterator range, std::uint64_t offset) {
  if (offset == range->first) return range;
  Range behind = range->second;
  behind.bytes -= offset - range->first;
  range->second.bytes = offset - range->first;
  return ranges_.emplace(offset, behind).first;
}

Result<Mapping> MemoryPool::map(std::uint64_t bytes, Placement placement) {
  if (bytes == 0) return fail(ErrorKind::usage, "a mapping of 0 bytes");
  const std::lock_guard lock(mutex_);
  const auto refused = [&] {
    return fail(ErrorKind::exhausted, fmt::format("npu_dma_map_error: cannot map {} bytes", bytes));
  };
  if (!pages_ || bytes > pages_->memory().size()) return refused();
  const std::uint64_t page = PageMap::page_bytes();
  const std::uint64_t size = (bytes + page - 1) / page * page;
  for (auto range = ranges_.begin(); range != ranges_.end(); ++range) {
    const auto place = place_in(*range, size, placement);
    if (!place) continue;
    range = split(range, *place);
    if (range->second.bytes > size) split(range, *place + size);
    range->second.state = Range::State::live;
    std::byte* memory = pages_->memory().data() + *place;
    if (range->second.dirty) std::memset(memory, 0, size);
    range->second.dirty = true;
    const std::uint64_t id = next_id_++;
    live_[id] = *place;
    return Mapping{id, {memory, bytes}, runs_in(*place, size)};
  }
  return refused();
}

void MemoryPool::unmap(std::uint64_t id) {
  const std::lock_guard lock(mutex_);
  const auto live = live_.find(id);
  if (live == live_.end()) return;
  ranges_.at(live->second).state = Range::State::left;
  live_.erase(live);
}

void MemoryPool::join_free() {
  for (auto range = ranges_.begin(); range != ranges_.end();) {
    const auto next = std::next(range);
    if (next != ranges_.end() && range->second.state == Range::State::free &&
        next->second.state == Range::State::free) {
      range->second.bytes += next->second.bytes;
      range->second.dirty = range->second.dirty || next->second.dirty;
      ranges_.erase(next);
    } else {
      range = next;
    }
  }
}

void MemoryPool::flush_locked() {
  for (auto& [offset, range] : ranges_) {
    if (range.state == Range::State::left) range.state = Range::State::free;
  }
  join_free();
}

void MemoryPool::flush() {
  const std::lock_guard lock(mutex_);
  flush_locked();
}

Result<> MemoryPool::defragment() {
  const std::lock_guard lock(mutex_);
  if (!live_.empty()) {
    return fail(
        ErrorKind::usage,
        fmt::format("the pool has {} live mappings; defragmenting would move them", live_.size()),
        {}, "defragment before the load, never after");
  }
  if (!pages_) return fail(ErrorKind::exhausted, "the pool has no memory");
  const std::uint64_t bytes = pages_->memory().size();
  pages_.reset();
  ranges_.clear();
  compact_memory();
  auto pages = PoolPages::take(bytes);
  if (!pages) return std::unexpected(pages.error());
  pages_ = std::move(*pages);
  reset_ranges();
  return {};
}

std::uint64_t MemoryPool::largest_free() const {
  std::uint64_t largest = 0;
  if (!pages_) return 0;
  const auto& runs = pages_->runs();
  auto run = runs.begin();
  for (const auto& [offset, range] : ranges_) {
    if (range.state != Range::State::free) continue;
    while (run != runs.end() && run->offset + run->bytes <= offset) ++run;
    for (auto part = run; part != runs.end() && part->offset < offset + range.bytes; ++part) {
      const std::uint64_t first = std::max(part->offset, offset);
      const std::uint64_t last = std::min(part->offset + part->bytes, offset + range.bytes);
      largest = std::max(largest, last - first);
    }
  }
  return largest;
}

PoolInfo MemoryPool::info() const {
  const std::lock_guard lock(mutex_);
  PoolInfo info;
  info.total_bytes = pages_ ? pages_->memory().size() : 0;
  for (const auto& [offset, range] : ranges_) {
    if (range.state == Range::State::free) info.free_bytes += range.bytes;
  }
  info.largest_free_block_bytes = largest_free();
  info.live_mappings = live_.size();
  return info;
}

PageShares MemoryPool::shares() const {
  const std::lock_guard lock(mutex_);
  return pages_ ? pages_->shares() : PageShares{};
}

bool MemoryPool::frames_known() const {
  const std::lock_guard lock(mutex_);
  return pages_ && pages_->frames_known();
}

std::uint64_t preallocate_huge_pages(std::uint64_t bytes) {
  const Machine machine;
  std::uint64_t ready = 0;
  for (const std::uint64_t page_bytes : {std::uint64_t{1} << 30, std::uint64_t{2} << 20}) {
    const std::uint64_t pages = (bytes - std::min(bytes, ready)) / page_bytes;
    if (pages == 0) continue;
    const std::uint64_t free = free_huge_pages(machine, page_bytes);
    if (free < pages) {
      (void)resize_huge_page_pool(machine, page_bytes, static_cast<std::int64_t>(pages - free));
    }
    ready += std::min(pages, free_huge_pages(machine, page_bytes)) * page_bytes;
  }
  return ready;
}

}  // namespace assay::runtime
