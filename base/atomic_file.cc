#include "base/atomic_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>

#include "base/fd.h"

namespace assay {
namespace {

Result<> write_all(int fd, std::string_view content, const std::string& path) {
  while (!content.empty()) {
    const ssize_t n = ::write(fd, content.data(), content.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return fail_errno(errno, "cannot write", path);
    content.remove_prefix(static_cast<std::size_t>(n));
  }
  return {};
}

}  // namespace

Result<> write_file_atomically(const std::string& path, std::string_view content,
                               Durability durability) {
  const std::string temporary = path + ".new";
  UniqueFd fd(::open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644));
  if (!fd) return fail_errno(errno, "cannot create", temporary);
  auto written = write_all(fd.get(), content, temporary);
  if (written && durability == Durability::synced && fsync(fd.get()) != 0) {
    written = fail_errno(errno, "cannot sync", temporary);
  }
  if (written && ::rename(temporary.c_str(), path.c_str()) != 0) {
    written = fail_errno(errno, "cannot rename to", path);
  }
  if (!written) {
    ::unlink(temporary.c_str());
    return written;
  }
  if (durability == Durability::synced) {
    const std::string folder = std::filesystem::path(path).parent_path().string();
    const UniqueFd dir(
        ::open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!dir || fsync(dir.get()) != 0) return fail_errno(errno, "cannot sync the folder", folder);
  }
  return {};
}

Result<> make_folders(const std::string& path) {
  std::error_code error;
  std::filesystem::create_directories(path, error);
  if (error) return fail(ErrorKind::io, "cannot create folder: " + error.message(), path);
  return {};
}

}  // namespace assay
