// The kernel's log, from /dev/kmsg (Documentation/ABI/testing/dev-kmsg: "priority,sequence,
// microseconds,flags;message").
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/machine.h"

namespace assay::probes {

// Messages that hold `wanted`, oldest first, at most 1,000, of the records from sequence number
// `since` on. Empty when the log cannot be read.
std::vector<std::string> kernel_log_lines(const Machine& machine, std::string_view wanted,
                                          std::uint64_t since = 0);

// The sequence number behind the newest record's; 0 when there is none. Records that the kernel's
// ring has lost do not move it.
std::uint64_t kernel_log_end(const Machine& machine);

// The message of one record of /dev/kmsg; empty when it is none (a continuation line).
std::string kmsg_message(std::string_view record);

}  // namespace assay::probes
