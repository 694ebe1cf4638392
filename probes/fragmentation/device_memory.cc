#include "probes/fragmentation/device_memory.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/units.h"
#include "probes/fragmentation/buddyinfo.h"
#include "probes/fragmentation/npu_pool.h"
#include "probes/memory/ram.h"

namespace assay::probes {
namespace {

// Of the largest order that the page allocator here has, free or not.
Result<std::uint64_t> largest_order_bytes(const Machine& machine, std::uint64_t page_bytes) {
  const auto text = machine.read("/proc/buddyinfo");
  if (!text) return std::unexpected(text.error());
  const auto info = parse_buddyinfo(*text);
  if (!info) return std::unexpected(info.error());
  std::size_t orders = 1;
  for (const BuddyZone& zone : info->zones) orders = std::max(orders, zone.blocks.size());
  constexpr std::size_t most_orders = 32;
  return page_bytes << (std::min(orders, most_orders) - 1);
}

// A machine whose device reaches any page: what is free can be mapped.
Result<DeviceView> view_without_rules(const Machine& machine) {
  const auto usable = usable_memory(machine);
  if (!usable) return std::unexpected(usable.error());
  DeviceView view;
  view.memory.now = {.free_bytes = *usable, .largest_bytes = *usable};
  view.memory.joined = view.memory.now;
  view.notes.emplace_back("the profile has no rules for mappings: all memory that is available");
  return view;
}

// A firmware that joins no blocks has no longer run, defragmented or not.
void bound_runs(DeviceView& view) {
  if (view.rules.max_run_bytes == 0) return;
  for (runtime::MemoryState* state : {&view.memory.now, &view.memory.joined}) {
    state->largest_bytes = std::min(state->largest_bytes, view.rules.max_run_bytes);
  }
}

}  // namespace

Result<DeviceView> view_device(const Machine& machine, const BoardProfile& board,
                               const std::optional<SemanticVersion>& firmware) {
  if (!board.npu) return view_without_rules(machine);
  const MappingProfile& profile = board.npu->mapping;
  const std::uint64_t page_bytes = board.memory ? board.memory->page_bytes : 4096;
  DeviceView view;
  view.rules = {.contiguous = profile.contiguous,
                .max_run_bytes = 0,
                .max_chunk_bytes = profile.max_chunk_bytes,
                .shard_region_bytes = profile.shard_region_bytes};
  if (firmware && profile.large_pages_since && *firmware < *profile.large_pages_since) {
    const auto largest = largest_order_bytes(machine, page_bytes);
    if (!largest) return std::unexpected(largest.error());
    view.rules.max_run_bytes = *largest;
    view.notes.push_back(fmt::format("firmware {} joins no blocks; {} does", firmware->text(),
                                     profile.large_pages_since->text()));
  }
  const std::uint64_t joined =
      profile.pool_joined_bytes != 0 ? profile.pool_joined_bytes : profile.pool_bytes;
  const auto pool = read_pool_info(machine, board);
  if (!pool) {
    // Another machine than the board, most of the time. What is there and unreadable is no reason
    // to guess.
    if (!profile.pool_file.empty() && machine.exists(profile.pool_file)) {
      return std::unexpected(pool.error());
    }
    view.memory = {.now = {.free_bytes = joined, .largest_bytes = 0},
                   .joined = {.free_bytes = joined, .largest_bytes = joined},
                   .reservable_bytes = profile.pool_bytes};
    view.notes.push_back(fmt::format(
        "no pool on this machine: figures of the profile, with nothing mapped and not joined{}",
        profile.pool_file.empty() ? "" : " (no " + profile.pool_file + ")"));
    bound_runs(view);
    return view;
  }
  view.pool = *pool;
  view.memory.now = {.free_bytes = pool->free_bytes,
                     .largest_bytes = pool->largest_free_block_bytes};
  view.memory.reservable_bytes = pool->total_bytes;
  if (pool->live_mappings > 0) {
    view.memory.joined = view.memory.now;
    view.notes.push_back(fmt::format(
        "{} mappings live: the pool is not defragmented while they do; stop their tasks",
        pool->live_mappings));
    return view;
  }
  const std::uint64_t expected = std::min(joined, pool->total_bytes);
  view.memory.joined = {.free_bytes = std::max(expected, pool->free_bytes),
                        .largest_bytes = std::max(expected, pool->largest_free_block_bytes)};
  bound_runs(view);
  if (view.rules.max_run_bytes != 0) return view;
  view.notes.push_back(fmt::format(
      "{} in one block after flush and defragment is the profile's figure: pinned pages "
      "show when it is done",
      format_gb(view.memory.joined.largest_bytes)));
  return view;
}

}  // namespace assay::probes
