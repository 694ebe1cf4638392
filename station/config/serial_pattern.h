// The pattern of a board's serial numbers (RE2 syntax: https://github.com/google/re2/wiki/Syntax).
// Both the pattern and the serial come from outside: RE2 matches any pattern in time linear in the
// text, and compiles within a bound of memory.
#pragma once

#include <string>

#include "base/result.h"

namespace assay::station {

// Errors: bad_file with what is wrong with it.
Result<> check_serial_pattern(const std::string& pattern);

// Whether the pattern matches the whole text. False for a pattern that is none.
bool matches_serial_pattern(const std::string& pattern, const std::string& serial);

}  // namespace assay::station
