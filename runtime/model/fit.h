// Will a model load? What a load asks for (layout.h), held against the device's two rules, one for
// a contiguous mapping and one for a chunk, and against what its memory is now. Arithmetic alone:
// asks no device, changes nothing.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "runtime/model/precision.h"
#include "runtime/model/shape.h"

namespace assay::runtime {

// Bytes; what a device has no bound for is 0.
struct MappingRules {
  bool contiguous = false;               // a contiguous mapping is one physical run of pages
  std::uint64_t max_run_bytes = 0;       // of such a run
  std::uint64_t max_chunk_bytes = 0;     // of a scattered mapping, and of a shard
  std::uint64_t shard_region_bytes = 0;  // shards lie in one region, aligned and rounded up to
                                         // this; 0: the device takes no shards
};

struct MemoryState {
  std::uint64_t free_bytes = 0;     // that mappings can have
  std::uint64_t largest_bytes = 0;  // of it, the longest run of pages
};

struct DeviceMemory {
  MemoryState now;
  // Flushed and defragmented; as `now` where nothing can be.
  MemoryState joined;
  // That can be set aside for shards when the board boots.
  std::uint64_t reservable_bytes = 0;
};

enum class Fit : std::uint8_t {
  yes,
  after_defragment,  // flushed and defragmented before the load
  sharded,           // in shards alone, in a region that is reserved at boot
  no,
};

struct PrecisionFit {
  std::string precision;
  Fit fit = Fit::no;
  std::uint64_t bytes = 0;  // all mappings
  std::size_t mappings = 0;
  std::uint64_t largest_mapping_bytes = 0;
  std::size_t shards = 0;  // where it is sharded
  // The first mapping that cannot be had as memory is now, from 1; 0: each can. Its size and why.
  std::size_t failing_mapping = 0;
  std::uint64_t failing_bytes = 0;
  std::string reason;
};

struct ModelFit {
  PrecisionFit asked;
  // Every other precision, by the bytes it takes, the largest first.
  std::vector<PrecisionFit> others;

  // Of the others that load, whole: the one that takes most bytes, and so loses least. None: null.
  const PrecisionFit* way_out() const;
};

// Errors: usage, of a shape that does not pass validate() and of an unknown precision.
Result<ModelFit> fit_model(const ModelShape& shape, const std::string& precision,
                           const MappingRules& rules, const DeviceMemory& memory);

// "yes", "yes, after flush and defragment", "only sharded", "no".
const char* to_text(Fit fit);

}  // namespace assay::runtime
