// A whole number that a person typed. Decimal, and nothing else: CLI11 would take 010 for 8, and -1
// for the largest.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"

namespace assay::station {

// 0..`most`. ErrorKind::usage, with `option` in `where`.
Result<std::uint64_t> parse_whole_number(const std::string& text, std::uint64_t most,
                                         const std::string& option);

}  // namespace assay::station
