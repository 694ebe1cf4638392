// Who may use a device's file.
#pragma once

#include <string>

namespace assay {

// The name of the file's group, its number when it has no name; empty when there is no such file.
std::string file_group(const std::string& path);

}  // namespace assay
