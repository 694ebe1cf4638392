// The kernel's log, from /dev/kmsg (Documentation/ABI/testing/dev-kmsg: "priority,sequence,
// microseconds,flags;message").
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/machine.h"

namespace assay::probes {

// Messages that hold `wanted`, oldest first, at most 1,000. Empty when the log cannot be read.
std::vector<std::string> kernel_log_lines(const Machine& machine, std::string_view wanted);

// The message of one record of /dev/kmsg; empty when it is none (a continuation line).
std::string kmsg_message(std::string_view record);

}  // namespace assay::probes
