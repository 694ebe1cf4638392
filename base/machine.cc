#include "base/machine.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/syscall.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <memory>

namespace assay {
namespace {

// openat2(2) keeps the path below the root whatever links it meets. Kernels before 5.6 lack it;
// there the machine's own root needs no such guard and any other root is refused.
int open_below(const std::string& root, const std::string& path, int flags) {
  const UniqueFd base(::open(root.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!base) return -1;
  open_how how{};
  how.flags = static_cast<std::uint64_t>(flags | O_CLOEXEC);
  how.resolve = root == "/" ? 0 : RESOLVE_IN_ROOT;
  const long fd = syscall(SYS_openat2, base.get(), path.c_str(), &how, sizeof how);
  if (fd < 0 && errno == ENOSYS && root == "/") return ::open(path.c_str(), flags | O_CLOEXEC);
  return static_cast<int>(fd);
}

}  // namespace

Machine::Machine(std::string root) : root_(std::move(root)) {
  while (root_.size() > 1 && root_.back() == '/') root_.pop_back();
  if (root_.empty()) root_ = "/";
}

Result<UniqueFd> Machine::open(const std::string& path, int flags) const {
  UniqueFd fd(open_below(root_, path, flags));
  if (!fd) return fail_errno(errno, "cannot open", path);
  return fd;
}

Result<std::string> Machine::read(const std::string& path, std::size_t max_bytes) const {
  auto fd = open(path, O_RDONLY | O_NONBLOCK);
  if (!fd) return std::unexpected(fd.error());
  std::string content;
  char buffer[8192];
  for (;;) {
    const ssize_t n = ::read(fd->get(), buffer, sizeof buffer);
    if (n == 0) return content;
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return fail_errno(errno, "cannot read", path);
    content.append(buffer, static_cast<std::size_t>(n));
    if (content.size() > max_bytes) {
      return fail(ErrorKind::io, "larger than " + std::to_string(max_bytes) + " bytes", path);
    }
  }
}

Result<std::string> Machine::read_line(const std::string& path) const {
  auto content = read(path, 1 << 16);
  if (!content) return content;
  content->erase(content->find_last_not_of(std::string(" \t\r\n\0", 5)) + 1);
  return content;
}

Result<std::int64_t> Machine::read_integer(const std::string& path) const {
  const auto line = read_line(path);
  if (!line) return std::unexpected(line.error());
  std::int64_t value = 0;
  const char* end = line->data() + line->size();
  const auto [at, error] = std::from_chars(line->data(), end, value);
  if (error != std::errc{} || at != end) {
    return fail(ErrorKind::protocol, "expected a number, found \"" + line->substr(0, 40) + "\"",
                path);
  }
  return value;
}

Result<std::vector<std::string>> Machine::list(const std::string& path) const {
  auto fd = open(path, O_RDONLY | O_DIRECTORY);
  if (!fd) return std::unexpected(fd.error());
  const std::unique_ptr<DIR, int (*)(DIR*)> dir(fdopendir(fd->get()), closedir);
  if (!dir) return fail_errno(errno, "cannot list", path);
  fd->release();  // owned by the DIR from here
  std::vector<std::string> names;
  while (const dirent* entry = readdir(dir.get())) {
    std::string name = entry->d_name;
    if (name != "." && name != "..") names.push_back(std::move(name));
  }
  std::sort(names.begin(), names.end());
  return names;
}

bool Machine::exists(const std::string& path) const {
  return open(path, O_PATH).has_value();
}

std::string Machine::host_path(const std::string& path) const {
  return root_ == "/" ? path : root_ + path;
}

}  // namespace assay
