// Where a run leaves its files: OUT/<serial>-<time>/.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"

namespace assay::station {

// Makes the folder; a second run in the same second gets "-2". Whatever a serial holds, the folder
// lies directly in `out`.
Result<std::string> make_run_folder(const std::string& out, const std::string& serial,
                                    std::int64_t wall_ns);

// A serial as one file name: letters, digits, '.', '_' and '-', at most 64, never hidden.
std::string file_name_of(const std::string& serial);

}  // namespace assay::station
