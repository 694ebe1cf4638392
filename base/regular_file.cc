#include "base/regular_file.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>

#include <cerrno>

namespace assay {

Result<UniqueFd> open_regular_file(const std::string& path) {
  UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  if (!fd) {
    if (errno == ENOENT || errno == ENOTDIR)
      return fail(ErrorKind::bad_file, "no such file", path, "check the name");
    if (errno == ELOOP)
      return fail(ErrorKind::bad_file, "is a link that leads round to itself", path,
                  "name the file itself");
    return fail_errno(errno, "cannot open", path);
  }
  struct stat info {};
  if (fstat(fd.get(), &info) != 0) return fail_errno(errno, "cannot open", path);
  if (S_ISDIR(info.st_mode))
    return fail(ErrorKind::bad_file, "is a folder", path, "name a file in it");
  if (!S_ISREG(info.st_mode))
    return fail(ErrorKind::bad_file, "is not a regular file", path, "name a file");
  return fd;
}

Result<std::string> read_regular_file(const std::string& path, std::size_t max_bytes) {
  const auto fd = open_regular_file(path);
  if (!fd) return std::unexpected(fd.error());
  std::string content;
  char buffer[1 << 14];
  for (;;) {
    const ssize_t n = ::read(fd->get(), buffer, sizeof buffer);
    if (n == 0) return content;
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return fail_errno(errno, "cannot read", path);
    content.append(buffer, static_cast<std::size_t>(n));
    if (content.size() > max_bytes) {
      return fail(ErrorKind::bad_file, fmt::format("is larger than {} bytes", max_bytes), path);
    }
  }
}

}  // namespace assay
