#include "base/atomic_output.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <utility>

namespace assay {
namespace {

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

AtomicOutput::AtomicOutput(UniqueFd fd, std::string temporary, std::string target, std::string path)
    : fd_(std::move(fd)),
      temporary_(std::move(temporary)),
      target_(std::move(target)),
      path_(std::move(path)) {}

AtomicOutput::AtomicOutput(AtomicOutput&& other) noexcept
    : fd_(std::move(other.fd_)),
      temporary_(std::exchange(other.temporary_, {})),
      target_(std::move(other.target_)),
      path_(std::move(other.path_)),
      size_(other.size_) {}

AtomicOutput::~AtomicOutput() {
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
}

Result<AtomicOutput> AtomicOutput::create(const std::string& path) {
  auto target = file_to_replace(path);
  if (!target) return std::unexpected(target.error());
  auto temporary = make_beside(*target, path);
  if (!temporary) return std::unexpected(temporary.error());
  AtomicOutput output(std::move(temporary->fd), std::move(temporary->path), std::move(*target),
                      path);
  if (auto taken = take_mode(output.fd_.get(), output.target_, path); !taken) {
    return std::unexpected(taken.error());
  }
  return output;
}

Result<> AtomicOutput::write(std::span<const std::byte> bytes) {
  if (auto written = write_at(size_, bytes); !written) return written;
  size_ += bytes.size();
  return {};
}

Result<> AtomicOutput::write_at(std::uint64_t offset, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t n = ::pwrite(fd_.get(), bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return fail_errno(errno, "cannot write", path_);
    bytes = bytes.subspan(static_cast<std::size_t>(n));
    offset += static_cast<std::uint64_t>(n);
  }
  return {};
}

Result<> AtomicOutput::commit(Durability durability) {
  if (durability == Durability::synced && ::fsync(fd_.get()) != 0) {
    return fail_errno(errno, "cannot sync", path_);
  }
  if (::rename(temporary_.c_str(), target_.c_str()) != 0) {
    return fail_errno(errno, "cannot rename to", path_);
  }
  temporary_.clear();
  if (durability == Durability::visible) return {};
  const std::string folder = std::filesystem::path(target_).parent_path().string();
  const UniqueFd dir(
      ::open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!dir || ::fsync(dir.get()) != 0) return fail_errno(errno, "cannot sync the folder", folder);
  return {};
}

}  // namespace assay
