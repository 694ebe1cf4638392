#include "base/file_group.h"

#include <grp.h>
#include <sys/stat.h>

#include <vector>

namespace assay {

std::string file_group(const std::string& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) return {};
  constexpr mode_t read_and_write = S_IRGRP | S_IWGRP;
  if (status.st_gid == 0 || (status.st_mode & read_and_write) != read_and_write) return {};
  group entry{};
  group* found = nullptr;
  std::vector<char> buffer(16384);
  if (::getgrgid_r(status.st_gid, &entry, buffer.data(), buffer.size(), &found) != 0 || !found) {
    return std::to_string(status.st_gid);
  }
  return found->gr_name;
}

}  // namespace assay
