// The kernel's log, from /dev/kmsg (Documentation/ABI/testing/dev-kmsg: "priority,sequence,
// microseconds,flags;message").
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/machine.h"
#include "base/result.h"

namespace assay::probes {

// Hands over what the log has now, oldest first, until it ends or `take` returns false: whole
// records of the device, and any pieces of a file in its place. Errors: those of opening and
// reading it.
Result<> read_kernel_log(const Machine& machine,
                         const std::function<bool(std::string_view records)>& take);

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
