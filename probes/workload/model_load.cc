#include "probes/workload/model_load.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/clock.h"
#include "base/units.h"

namespace assay::probes {
namespace {

using runtime::LoadedModel;
using runtime::PoolInfo;

Result<LoadedModel> try_load(StepContext& context, const runtime::Layout& layout,
                             std::uint64_t seed) {
  return runtime::load(context.bench.npu, layout, seed, context.bench.workers, context.cancel,
                       [&](std::uint64_t done, std::uint64_t total) {
                         context.recorder.progress(done, total, "weights of " + layout.shape.name);
                       });
}

std::uint64_t largest_request(const runtime::Layout& layout) {
  std::uint64_t largest = 0;
  for (const auto& request : layout.mappings) largest = std::max(largest, request.bytes);
  return largest;
}

std::vector<std::string> evidence_of(const Error& error, const PoolInfo& pool) {
  return {error.what,
          fmt::format("pool: {} free of {}, largest_free_block {} ({} bytes)",
                      format_gb(pool.free_bytes), format_gb(pool.total_bytes),
                      format_gb(pool.largest_free_block_bytes), pool.largest_free_block_bytes)};
}

// On a healthy board this is how things are, and there is a way out: no fault yet.
void report_refused(StepContext& context, const Error& error, const runtime::Layout& layout) {
  const PoolInfo pool = context.bench.npu.pool_info();
  context.recorder.finding(
      {.code = "NPU_DMA_MAP_ERROR",
       .kind = reports::FindingKind::observation,
       .message = fmt::format("{} asks for one mapping of {}; the pool has {} free and its largest "
                              "block is {}.",
                              layout.shape.name, format_gb(largest_request(layout)),
                              format_gb(pool.free_bytes), format_gb(pool.largest_free_block_bytes)),
       .where = "NPU memory pool",
       .evidence = evidence_of(error, pool)});
}

void report_refused_for_good(StepContext& context, const Error& error,
                             const runtime::Layout& layout) {
  const PoolInfo pool = context.bench.npu.pool_info();
  context.recorder.finding(
      {.code = "NPU_POOL_FRAGMENTED",
       .message = fmt::format("{} cannot be mapped after the pool was flushed and defragmented: it "
                              "needs {} in one block, the largest is {}.",
                              layout.shape.name, format_gb(largest_request(layout)),
                              format_gb(pool.largest_free_block_bytes)),
       .where = "NPU memory pool",
       .evidence = evidence_of(error, pool)});
  context.recorder.headline("cannot map");
}

// Flush, then defragment, before the next try: never with the model's own mappings alive.
Result<> make_room(StepContext& context) {
  runtime::NpuDevice& npu = context.bench.npu;
  if (auto flushed = npu.pool_flush(); !flushed) return flushed;
  if (auto joined = npu.pool_defragment(); !joined) return joined;
  const std::uint64_t largest = npu.pool_info().largest_free_block_bytes;
  context.recorder.log(
      reports::Severity::info,
      fmt::format("pool flushed and defragmented: largest_free_block {}", format_gb(largest)));
  context.recorder.measure("pool_largest_free_block", static_cast<std::int64_t>(largest), "By");
  return {};
}

std::optional<LoadedModel> loaded(StepContext& context, LoadedModel model, std::int64_t start_ns) {
  const runtime::Layout& layout = model.layout();
  context.recorder.measure("mapped_bytes", static_cast<std::int64_t>(layout.mapped_bytes()), "By");
  context.recorder.measure("load_time", static_cast<double>(monotonic_ns() - start_ns) / 1e9, "s");
  context.recorder.log(
      reports::Severity::info,
      fmt::format("{} {} loaded: {} mapped in {} mappings of {} blocks", layout.shape.name,
                  layout.precision.name, format_gb(layout.mapped_bytes()), layout.mappings.size(),
                  model.mapped_blocks()));
  return model;
}

}  // namespace

Result<std::optional<LoadedModel>> load_model(StepContext& context, runtime::Layout layout,
                                              std::uint64_t seed) {
  const std::int64_t start = monotonic_ns();
  auto first = try_load(context, layout, seed);
  if (first) return loaded(context, std::move(*first), start);
  const bool has_pool = context.bench.npu.pool_info().total_bytes > 0;
  if (first.error().kind != ErrorKind::exhausted || !has_pool) {
    return std::unexpected(first.error());
  }
  report_refused(context, first.error(), layout);
  if (auto made = make_room(context); !made) return std::unexpected(made.error());
  auto second = try_load(context, layout, seed);
  if (second) return loaded(context, std::move(*second), start);
  if (second.error().kind != ErrorKind::exhausted) return std::unexpected(second.error());
  report_refused_for_good(context, second.error(), layout);
  return std::optional<LoadedModel>();
}

}  // namespace assay::probes
