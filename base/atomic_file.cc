#include "base/atomic_file.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <utility>

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
  if (path.empty()) return fail(ErrorKind::usage, "the file to write has no name");
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

struct Temporary {
  UniqueFd fd;
  std::string path;
};

// In the folder of `target`, by a name that nobody has: a file that is there is another's. Errors
// name the file that was asked for; this one is nobody's business.
Result<Temporary> make_beside(const std::string& target, const std::string& path) {
  const std::string folder = target.substr(0, target.rfind('/') + 1);
  for (;;) {
    std::uint64_t number = 0;
    if (::getrandom(&number, sizeof number, 0) != sizeof number) {
      return fail_errno(errno, "cannot create", path);
    }
    std::string name = fmt::format("{}.assay-{:016x}.new", folder, number);
    UniqueFd fd(::open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644));
    if (fd) return Temporary{std::move(fd), std::move(name)};
    if (errno != EEXIST) return fail_errno(errno, "cannot create", path);
  }
}

// A file that others may not read stays one.
Result<> take_mode(int fd, const std::string& target, const std::string& path) {
  struct stat before {};
  if (::stat(target.c_str(), &before) != 0) return {};  // a new file
  if (::fchmod(fd, before.st_mode & 0777) != 0) return fail_errno(errno, "cannot write", path);
  return {};
}

}  // namespace

Result<> write_file_atomically(const std::string& path, std::string_view content,
                               Durability durability) {
  const auto target = file_to_replace(path);
  if (!target) return std::unexpected(target.error());
  const auto temporary = make_beside(*target, path);
  if (!temporary) return std::unexpected(temporary.error());
  const int fd = temporary->fd.get();
  auto written = take_mode(fd, *target, path);
  if (written) written = write_all(fd, content, path);
  if (written && durability == Durability::synced && fsync(fd) != 0) {
    written = fail_errno(errno, "cannot sync", path);
  }
  if (written && ::rename(temporary->path.c_str(), target->c_str()) != 0) {
    written = fail_errno(errno, "cannot rename to", path);
  }
  if (!written) {
    ::unlink(temporary->path.c_str());
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
