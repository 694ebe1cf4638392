#include "base/file_group.h"

#include <grp.h>
#include <sys/stat.h>

#include <vector>

namespace assay {

std::string file_group(const std::string& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) return {};
  group entry{};
  group* found = nullptr;
  std::vector<char> buffer(16384);
  if (::getgrgid_r(status.st_gid, &entry, buffer.data(), buffer.size(), &found) != 0 || !found) {
    return std::to_string(status.st_gid);
  }
  return found->gr_name;
}

}  // namespace assay
