#include "probes/fragmentation/fragmentation.h"

#include <fmt/core.h>
#include <unistd.h>

#include "base/units.h"
#include "probes/fragmentation/buddyinfo.h"

namespace assay::probes {
namespace {

constexpr const char* buddyinfo_file = "/proc/buddyinfo";
// A huge page of most kernels with 4 KiB pages: what a driver asks for first.
constexpr int judged_order = 9;

std::uint64_t page_bytes(const BoardProfile& board) {
  if (board.memory) return board.memory->page_bytes;
  return static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
}

Result<BuddyInfo> read_buddyinfo(const Machine& machine) {
  const auto text = machine.read(buddyinfo_file);
  if (!text) return std::unexpected(text.error());
  return parse_buddyinfo(*text);
}

std::uint64_t largest_block_bytes(const BuddyInfo& info, std::uint64_t page) {
  const int order = info.largest_order();
  return order < 0 || order > 40 ? 0 : page << order;
}

Result<> run_fragmentation(StepContext& context) {
  const auto info = read_buddyinfo(context.bench.machine);
  if (!info) return std::unexpected(info.error());
  const std::uint64_t page = page_bytes(context.bench.board);
  const std::uint64_t largest = largest_block_bytes(*info, page);
  context.recorder.measure("free", static_cast<std::int64_t>(info->free_bytes(page)), "By");
  context.recorder.measure("largest_free_block", static_cast<std::int64_t>(largest), "By");
  context.recorder.measure("largest_order", std::int64_t{info->largest_order()}, "1");
  context.recorder.measure("unusable_index", info->unusable_index(judged_order), "1");
  nlohmann::json zones = nlohmann::json::array();
  for (const BuddyZone& zone : info->zones) {
    zones.push_back({{"node", zone.node}, {"zone", zone.zone}, {"blocks", zone.blocks}});
  }
  context.recorder.extension("assay.buddyinfo", {{"page_bytes", page}, {"zones", zones}});
  context.recorder.headline(fmt::format("order {} {}", info->largest_order(), format_gib(largest)));
  return {};
}

class FragmentationMonitor final : public Monitor {
 public:
  explicit FragmentationMonitor(const MonitorContext& context)
      : machine_(context.bench.machine),
        page_(page_bytes(context.bench.board)),
        largest_(context.recorder.series("largest_free_block", "By",
                                         context.limits_for("largest_free_block"))),
        unusable_(
            context.recorder.series("unusable_index", "1", context.limits_for("unusable_index"))) {}

  Result<> sample() override {
    const auto info = read_buddyinfo(machine_);
    if (!info) return std::unexpected(info.error());
    largest_->add(static_cast<std::int64_t>(largest_block_bytes(*info, page_)));
    unusable_->add(info->unusable_index(judged_order));
    return {};
  }

 private:
  const Machine& machine_;
  std::uint64_t page_;
  std::unique_ptr<reports::Series> largest_;
  std::unique_ptr<reports::Series> unusable_;
};

Result<std::unique_ptr<Monitor>> make_fragmentation_monitor(const MonitorContext& context) {
  if (const auto info = read_buddyinfo(context.bench.machine); !info) {
    return fail(ErrorKind::unavailable, info.error().what, info.error().where);
  }
  return std::make_unique<FragmentationMonitor>(context);
}

}  // namespace

Probe fragmentation_probe() {
  return {.name = "memory.fragmentation",
          .summary = "the largest physically contiguous block that the kernel can give",
          .parameters = {},
          .measurements = {{"free", "By", "free memory, all zones"},
                           {"largest_free_block", "By", "of the page allocator"},
                           {"largest_order", "1", "with a free block"},
                           {"unusable_index", "1",
                            "share of free memory that is in blocks below order 9"}},
          .preflight = nullptr,
          .run = run_fragmentation,
          .monitor = make_fragmentation_monitor};
}

}  // namespace assay::probes
