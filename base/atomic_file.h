// Small files that are either the old or the new content, whatever happens in between.
#pragma once

#include <string>
#include <string_view>

#include "base/atomic_output.h"
#include "base/result.h"

namespace assay {

// Through an AtomicOutput, with its rules and errors.
Result<> write_file_atomically(const std::string& path, std::string_view content,
                               Durability durability = Durability::synced);

// Creates a folder and its parents.
Result<> make_folders(const std::string& path);

}  // namespace assay
