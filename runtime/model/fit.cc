#include "runtime/model/fit.h"

#include <fmt/core.h>

#include <algorithm>
#include <optional>
#include <tuple>

#include "base/units.h"
#include "runtime/model/layout.h"

namespace assay::runtime {
namespace {

// The first mapping that the memory cannot give, as an index; none: each can be had.
struct Refusal {
  std::size_t mapping = 0;
  std::string reason;
};

std::optional<Refusal> first_refused(const Layout& layout, const MappingRules& rules,
                                     const MemoryState& memory) {
  std::uint64_t left = memory.free_bytes;
  // What contiguous mappings have taken may have come out of the largest run.
  std::uint64_t largest = memory.largest_bytes;
  for (std::size_t i = 0; i < layout.mappings.size(); ++i) {
    const MappingRequest& request = layout.mappings[i];
    const bool one_run = rules.contiguous && request.placement == Placement::contiguous;
    if (one_run && rules.max_run_bytes != 0 && request.bytes > rules.max_run_bytes) {
      return Refusal{i, fmt::format("one run of {} is wanted and the firmware joins none past {}",
                                    format_gb(request.bytes), format_gib(rules.max_run_bytes))};
    }
    if (request.bytes > left) {
      return Refusal{i, fmt::format("{} more are wanted and {} are free", format_gb(request.bytes),
                                    format_gb(left))};
    }
    if (one_run && request.bytes > largest) {
      return Refusal{i, fmt::format("one run of {} is wanted and the longest free one is {}",
                                    format_gb(request.bytes), format_gb(largest))};
    }
    left -= request.bytes;
    if (one_run) largest -= request.bytes;
  }
  return std::nullopt;
}

std::uint64_t size_of(const TensorPlace& tensor) {
  return (tensor.bytes.total + tensor_alignment - 1) / tensor_alignment * tensor_alignment;
}

std::uint64_t largest_tensor(const Layout& layout, std::uint32_t mapping) {
  std::uint64_t largest = 0;
  for (const TensorPlace& tensor : layout.tensors) {
    if (tensor.mapping == mapping) largest = std::max(largest, size_of(tensor));
  }
  return largest;
}

// Tensors in shards one behind the other, no tensor in two; 0 when one is larger than a shard.
std::size_t shards_of(const Layout& layout, std::uint64_t shard_bytes) {
  std::size_t shards = 0;
  std::uint64_t used = shard_bytes;
  for (const TensorPlace& tensor : layout.tensors) {
    const std::uint64_t size = size_of(tensor);
    if (size > shard_bytes) return 0;
    if (used + size > shard_bytes) {
      ++shards;
      used = 0;
    }
    used += size;
  }
  return shards;
}

PrecisionFit fit_precision(const ModelShape& shape, const Precision& precision,
                           const MappingRules& rules, const DeviceMemory& memory) {
  PrecisionFit fit{.precision = precision.name, .reason = ""};
  const std::uint64_t chunk = rules.max_chunk_bytes == 0 ? UINT64_MAX : rules.max_chunk_bytes;
  auto layout = plan_layout(shape, precision, shape.layers, chunk);
  if (!layout) {
    // The shape is sound: what is left is a tensor or an expert that no chunk holds, or columns
    // that this precision cannot group.
    fit.reason = layout.error().what;
    const auto whole = plan_layout(shape, precision, shape.layers, UINT64_MAX);
    if (!whole) return fit;
    fit.bytes = whole->mapped_bytes();
    fit.mappings = whole->mappings.size();
    for (std::size_t i = 0; i < whole->mappings.size() && fit.failing_mapping == 0; ++i) {
      // What all experts share is cut into chunks, but no tensor is.
      const std::uint64_t bytes = i == 0 ? largest_tensor(*whole, 0) : whole->mappings[i].bytes;
      if (bytes <= chunk) continue;
      fit.failing_mapping = i + 1;
      fit.failing_bytes = bytes;
    }
    return fit;
  }
  fit.bytes = layout->mapped_bytes();
  fit.mappings = layout->mappings.size();
  for (const MappingRequest& request : layout->mappings) {
    fit.largest_mapping_bytes = std::max(fit.largest_mapping_bytes, request.bytes);
  }
  const auto now = first_refused(*layout, rules, memory.now);
  if (!now) {
    fit.fit = Fit::yes;
    return fit;
  }
  fit.failing_mapping = now->mapping + 1;
  fit.failing_bytes = layout->mappings[now->mapping].bytes;
  fit.reason = now->reason;
  const auto joined = first_refused(*layout, rules, memory.joined);
  if (!joined) {
    fit.fit = Fit::after_defragment;
    return fit;
  }
  fit.reason = joined->reason;
  if (rules.shard_region_bytes == 0 ||
      layout->mappings.front().placement != Placement::contiguous) {
    return fit;
  }
  const std::uint64_t region = (fit.bytes + rules.shard_region_bytes - 1) /
                               rules.shard_region_bytes * rules.shard_region_bytes;
  const std::size_t shards = shards_of(*layout, chunk);
  if (region > memory.reservable_bytes || shards == 0) return fit;
  fit.fit = Fit::sharded;
  fit.shards = shards;
  return fit;
}

}  // namespace

Result<ModelFit> fit_model(const ModelShape& shape, const std::string& precision,
                           const MappingRules& rules, const DeviceMemory& memory) {
  if (auto sound = validate(shape); !sound) return std::unexpected(sound.error());
  const auto wanted = find_precision(precision);
  if (!wanted) return std::unexpected(wanted.error());
  ModelFit fit{.asked = fit_precision(shape, *wanted, rules, memory), .others = {}};
  for (const std::string& name : precision_names()) {
    if (name == precision) continue;
    fit.others.push_back(fit_precision(shape, *find_precision(name), rules, memory));
  }
  std::sort(fit.others.begin(), fit.others.end(), [](const PrecisionFit& a, const PrecisionFit& b) {
    return std::tie(b.bytes, a.precision) < std::tie(a.bytes, b.precision);
  });
  return fit;
}

const PrecisionFit* ModelFit::way_out() const {
  const auto loads = [&](const PrecisionFit& other) {
    return other.fit == Fit::yes || other.fit == Fit::after_defragment;
  };
  const auto found = std::find_if(others.begin(), others.end(), loads);
  return found == others.end() ? nullptr : &*found;
}

const char* to_text(Fit fit) {
  switch (fit) {
    case Fit::yes:
      return "yes";
    case Fit::after_defragment:
      return "yes, after flush and defragment";
    case Fit::sharded:
      return "only sharded";
    case Fit::no:
      return "no";
  }
  return "";
}

}  // namespace assay::runtime
