// One line from a person or a barcode scanner, which types fast and ends in Enter.
#pragma once

#include <string>

#include "base/result.h"

namespace assay::station {

// The line from standard input without its end. Errors: cancelled when a signal came on
// `signal_fd`, unavailable at the end of the input, protocol for a line of over 256 bytes.
Result<std::string> scan_line(int signal_fd);

}  // namespace assay::station
