#include "probes/fragmentation/fragmentation.h"

#include <fmt/core.h>
#include <unistd.h>

#include "base/units.h"
#include "probes/fragmentation/buddyinfo.h"
#include "probes/fragmentation/frame_runs.h"
#include "probes/fragmentation/page_types.h"
#include "probes/fragmentation/reservations.h"
#include "probes/memory/frame_coverage.h"

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

void record_page_types(reports::StepRecorder& recorder, const std::string& text) {
  const auto types = parse_page_types(text);
  if (!types) {
    recorder.log(reports::Severity::warning, types.error().text());
    return;
  }
  nlohmann::json free = nlohmann::json::array();
  for (const PageTypeZone& row : types->free) {
    free.push_back({{"node", row.node},
                    {"zone", row.zone},
                    {"type", row.type},
                    {"blocks", row.blocks},
                    {"at_least", row.at_least}});
  }
  nlohmann::json blocks = nlohmann::json::array();
  for (const PageBlocks& row : types->blocks) {
    blocks.push_back(
        {{"node", row.node}, {"zone", row.zone}, {"type", row.type}, {"blocks", row.blocks}});
  }
  recorder.detail("page_types", {{"block_order", types->block_order},
                                 {"free", std::move(free)},
                                 {"page_blocks", std::move(blocks)}});
}

void record_reservations(const Machine& machine, reports::StepRecorder& recorder,
                         std::uint64_t page) {
  if (const auto cma = read_cma(machine, page); cma && *cma) {
    nlohmann::json areas = nlohmann::json::array();
    for (const CmaArea& area : (*cma)->areas) {
      nlohmann::json json{{"name", area.name}, {"bytes", area.bytes}, {"failed", area.failed}};
      if (area.used_bytes) json["used_bytes"] = *area.used_bytes;
      if (area.longest_free) json["longest_free_bytes"] = *area.longest_free;
      areas.push_back(std::move(json));
    }
    recorder.detail("cma", {{"total_bytes", (*cma)->total_bytes},
                            {"free_bytes", (*cma)->free_bytes},
                            {"areas", std::move(areas)}});
  }
  nlohmann::json pools = nlohmann::json::array();
  for (const HugePagePool& pool : read_huge_page_pools(machine)) {
    pools.push_back({{"page_bytes", pool.page_bytes},
                     {"pages", pool.pages},
                     {"free", pool.free},
                     {"reserved", pool.reserved},
                     {"surplus", pool.surplus}});
  }
  if (!pools.empty()) recorder.detail("huge_page_pools", std::move(pools));
  const auto iomem = machine.read("/proc/iomem");
  if (!iomem) return;
  const auto ranges = parse_reserved_ranges(*iomem);
  if (!ranges) {
    recorder.log(reports::Severity::warning, ranges.error().text());
    return;
  }
  nlohmann::json reserved = nlohmann::json::array();
  for (const ReservedRange& range : *ranges) {
    reserved.push_back({{"first", fmt::format("{:#x}", range.first)},
                        {"last", fmt::format("{:#x}", range.last)},
                        {"name", range.name}});
  }
  if (!reserved.empty()) recorder.detail("reserved_ranges", std::move(reserved));
}

nlohmann::json run_json(const FrameRun& run, std::uint64_t page) {
  return {{"first_frame", run.first}, {"bytes", run.frames * page}};
}

std::uint64_t largest_block_bytes(const BuddyInfo& info, std::uint64_t page) {
  const int order = info.largest_order();
  return order < 0 || order > 40 ? 0 : page << order;
}

// The kernel gives a device's driver one run of pages from CMA when nothing else has one.
Result<> judge_cma(StepContext& context, const CmaProfile& want, std::uint64_t page) {
  const auto cma = read_cma(context.bench.machine, page);
  if (!cma) return std::unexpected(cma.error());
  const std::uint64_t total = *cma ? (*cma)->total_bytes : 0;
  const bool enough = context.recorder.measure(
      "cma_total", static_cast<std::int64_t>(total), "By",
      {reports::make_validator(reports::Comparison::greater_or_equal,
                               static_cast<std::int64_t>(want.minimum_bytes), "By")});
  if (enough) return {};
  constexpr std::uint64_t mib = std::uint64_t{1} << 20;
  context.recorder.finding(
      {.code = "CMA_TOO_SMALL",
       .message = fmt::format("The kernel sets {:.1f} MiB of contiguous memory (CMA) aside; the "
                              "board needs {:.1f} MiB.",
                              static_cast<double>(total) / mib,
                              static_cast<double>(want.minimum_bytes) / mib),
       .where = "/proc/meminfo",
       .evidence = {*cma ? fmt::format("CmaTotal: {} kB", total >> 10)
                         : std::string("no line CmaTotal: this kernel has no CMA")},
       .remedy = {fmt::format("start the kernel with  cma={}M  or more on its command line",
                              (want.minimum_bytes + mib - 1) / mib)}});
  return {};
}

// Beside the page allocator's own lists: what root alone is told, and what is set aside. None of it
// is needed for the figures above it.
void record_details(StepContext& context, const BuddyInfo& info, std::uint64_t page) {
  const Machine& machine = context.bench.machine;
  reports::StepRecorder& recorder = context.recorder;
  nlohmann::json indices = nlohmann::json::array();
  for (const BuddyZone& zone : info.zones) {
    nlohmann::json unusable = nlohmann::json::array();
    nlohmann::json fragmentation = nlohmann::json::array();
    for (int order = 0; order < static_cast<int>(zone.blocks.size()); ++order) {
      unusable.push_back(unusable_index(zone, order));
      const auto index = fragmentation_index(zone, order);
      fragmentation.push_back(index ? nlohmann::json(*index) : nlohmann::json());
    }
    indices.push_back({{"node", zone.node},
                       {"zone", zone.zone},
                       {"unusable_index", std::move(unusable)},
                       {"fragmentation_index", std::move(fragmentation)}});
  }
  recorder.detail("indices", std::move(indices));
  if (const auto text = machine.read("/proc/pagetypeinfo"); text) {
    record_page_types(recorder, *text);
  }
  record_reservations(machine, recorder, page);
}

Result<> record_runs(StepContext& context, std::uint64_t page) {
  const auto present = present_frames(context.bench.machine);
  const auto runs = read_frame_runs(context.bench.machine, context.cancel, [&](std::uint64_t done) {
    if (present) context.recorder.progress(std::min(done, *present), *present, "frames");
  });
  if (!runs && runs.error().kind == ErrorKind::cancelled) return std::unexpected(runs.error());
  if (!runs) {
    context.recorder.log(reports::Severity::info, runs.error().text());
    return {};
  }
  context.recorder.measure("longest_free_run",
                           static_cast<std::int64_t>(runs->free().frames * page), "By");
  context.recorder.measure("longest_movable_run",
                           static_cast<std::int64_t>(runs->movable().frames * page), "By");
  context.recorder.detail("longest_runs", {{"free", run_json(runs->free(), page)},
                                           {"movable", run_json(runs->movable(), page)}});
  return {};
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
  record_details(context, *info, page);
  if (const auto& cma = context.bench.board.cma) {
    if (auto judged = judge_cma(context, *cma, page); !judged) return judged;
  }
  return record_runs(context, page);
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
          .measurements =
              {{"free", "By", "free memory, all zones"},
               {"largest_free_block", "By", "of the page allocator"},
               {"largest_order", "1", "with a free block"},
               {"unusable_index", "1", "share of free memory that is in blocks below order 9"},
               {"cma_total", "By", "contiguous memory set aside, where the profile has a minimum"},
               {"longest_free_run", "By", "of free frames, past the largest order too; as root"},
               {"longest_movable_run", "By", "of frames that are free or can be moved; as root"}},
          .preflight = nullptr,
          .run = run_fragmentation,
          .monitor = make_fragmentation_monitor};
}

}  // namespace assay::probes
