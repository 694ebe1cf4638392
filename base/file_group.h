// Who may use a device's file.
#pragma once

#include <string>

namespace assay {

// The name of the group whose members may read and write the file, its number when it has no name.
// Empty when there is none: no such file, a mode that gives the group nothing, or root's own group,
// which is no group to join.
std::string file_group(const std::string& path);

}  // namespace assay
