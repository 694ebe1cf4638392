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

// The file itself where `path` is a link to one, so that the link stays. A rename would put a file
// in the place of /dev/null, too.
Result<std::string> file_to_replace(const std::string& path) {
  std::error_code error;
  const auto status = std::filesystem::status(path, error);
  if (!std::filesystem::exists(status)) return path;  // what is wrong, opening it tells
  if (std::filesystem::is_directory(status)) return fail_errno(EISDIR, "cannot write", path);
  if (!std::filesystem::is_regular_file(status)) {
    return fail(ErrorKind::usage, "is a device, a pipe or a socket; a file can be written", path);
  }
  if (!std::filesystem::is_symlink(path, error)) return path;
  const auto target = std::filesystem::canonical(path, error);
  if (error) return fail_errno(error.value(), "cannot follow", path);
  return target.string();
}

}  // namespace

Result<> write_file_atomically(const std::string& path, std::string_view content,
                               Durability durability) {
  const auto target = file_to_replace(path);
  if (!target) return std::unexpected(target.error());
  const std::string temporary = *target + ".new";
  UniqueFd fd(::open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644));
  // Errors name the file that was asked for; the other one is nobody's business.
  if (!fd) return fail_errno(errno, "cannot create", path);
  auto written = write_all(fd.get(), content, path);
  if (written && durability == Durability::synced && fsync(fd.get()) != 0) {
    written = fail_errno(errno, "cannot sync", path);
  }
  if (written && ::rename(temporary.c_str(), target->c_str()) != 0) {
    written = fail_errno(errno, "cannot rename to", path);
  }
  if (!written) {
    ::unlink(temporary.c_str());
    return written;
  }
  if (durability == Durability::synced) {
    const std::string folder = std::filesystem::path(*target).parent_path().string();
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
