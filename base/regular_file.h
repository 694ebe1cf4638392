// Files that a person named: opened without waiting and read within a bound, whatever they turn out
// to be. A FIFO, a device or a folder is refused, not waited for.
#pragma once

#include <cstddef>
#include <string>

#include "base/fd.h"
#include "base/result.h"

namespace assay {

// For reading. Errors: bad_file when there is no such file, or it is no regular one, or a loop of
// links; unavailable when it may not be read; io.
Result<UniqueFd> open_regular_file(const std::string& path);

// The whole file. Errors: those of opening; bad_file over `max_bytes`.
Result<std::string> read_regular_file(const std::string& path, std::size_t max_bytes);

}  // namespace assay
