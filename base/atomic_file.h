// Files that are either the old or the new content, whatever happens in between.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace assay {

enum class Durability {
  visible,  // readers see old or new, never half
  synced,   // and it survives a power cut: file and folder are synced
};

// Writes beside `path`, into a file of a name that nobody has, and renames it. The mode is that of
// the file before, or 0644 less the umask. A link to a file stays one; folders, devices, pipes and
// sockets are refused. Errors: usage (a name that cannot be a file's), and fail_errno()'s.
Result<> write_file_atomically(const std::string& path, std::string_view content,
                               Durability durability = Durability::synced);

// Creates a folder and its parents.
Result<> make_folders(const std::string& path);

}  // namespace assay
