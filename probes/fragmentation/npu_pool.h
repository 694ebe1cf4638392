// The NPU driver's own account of its memory pool, a file that the board's profile names: lines
// "name: number", of which total_bytes, free_bytes, largest_free_block and live_mappings are read.
#pragma once

#include <string_view>

#include "base/machine.h"
#include "base/result.h"
#include "probes/framework/board_profile.h"
#include "runtime/device/npu_device.h"

namespace assay::probes {

// Other names are left alone. Errors: protocol, where one of the four is missing, given twice or no
// number, or they contradict each other.
Result<runtime::PoolInfo> parse_pool_info(std::string_view text);

// Errors: unavailable, where the profile names no file or there is none here; those of reading it;
// those of parse_pool_info(), with the file as `where`.
Result<runtime::PoolInfo> read_pool_info(const Machine& machine, const BoardProfile& board);

}  // namespace assay::probes
