// What a board's NPU can map, now and once its pool is flushed and defragmented: the rules of its
// profile and firmware, the pool's account on this machine where there is one.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/machine.h"
#include "base/result.h"
#include "base/semver.h"
#include "probes/framework/board_profile.h"
#include "runtime/device/npu_device.h"
#include "runtime/model/fit.h"

namespace assay::probes {

struct DeviceView {
  runtime::MappingRules rules;
  runtime::DeviceMemory memory;
  std::optional<runtime::PoolInfo> pool;  // its account here
  // Where figures come from that were not read here, and what stands in the way of a defragment.
  std::vector<std::string> notes;
};

// `firmware` bounds a run of pages where the profile says since when blocks are joined; none: it is
// taken to join them. Errors: those of /proc/buddyinfo and /proc/meminfo where they are needed, and
// of a pool's account that is there and cannot be read.
Result<DeviceView> view_device(const Machine& machine, const BoardProfile& board,
                               const std::optional<SemanticVersion>& firmware);

}  // namespace assay::probes
