#include "station/commands/log_file.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <poll.h>
#include <sys/stat.h>

#include <array>
#include <cerrno>
#include <utility>
#include <vector>

#include "base/utf8.h"

namespace assay::station {
namespace {

constexpr const char* standard_input = "standard input";

// How files begin that hold a log and are none.
struct OtherFormat {
  std::string_view magic;
  const char* what;
  const char* hint;
};
constexpr std::array<OtherFormat, 6> other_formats = {
    {{"\x1F\x8B", "is compressed", "zcat FILE | assay diagnose -"},
     {"\xFD"
      "7zXZ",
      "is compressed", "xzcat FILE | assay diagnose -"},
     {"\x28\xB5\x2F\xFD", "is compressed", "zstdcat FILE | assay diagnose -"},
     {"BZh", "is compressed", "bzcat FILE | assay diagnose -"},
     {"\x04\x22\x4D\x18", "is compressed", "lz4cat FILE | assay diagnose -"},
     {"LPKSHHRH", "is the journal's own format", "journalctl --file FILE | assay diagnose -"}}};

std::unexpected<Error> cannot(int error_number, const std::string& what, const std::string& name) {
  Error error = fail_errno(error_number, what, name).error();
  error.kind = ErrorKind::bad_file;
  return std::unexpected(std::move(error));
}

}  // namespace

Result<LogFile> LogFile::open(const std::string& path) {
  if (path == "-") {
    UniqueFd fd(fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0));
    if (!fd) return cannot(errno, "cannot be read", standard_input);
    return LogFile(std::move(fd), standard_input, 0);
  }
  const std::string name = to_printable(path);
  // A pipe without a writer must not be waited for here, where nothing can cancel it.
  UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!fd) return cannot(errno, "cannot be opened", name);
  struct stat status {};
  if (fstat(fd.get(), &status) != 0) return cannot(errno, "cannot be opened", name);
  if (!S_ISREG(status.st_mode) && !S_ISFIFO(status.st_mode)) {
    return fail(ErrorKind::bad_file, S_ISDIR(status.st_mode) ? "is a folder" : "is a device", name,
                "name a log; without one,  assay diagnose  reads this machine's own");
  }
  const std::uint64_t size =
      S_ISREG(status.st_mode) ? static_cast<std::uint64_t>(status.st_size) : 0;
  return LogFile(std::move(fd), name, size);
}

Result<bool> LogFile::read(const CancelToken& cancel,
                           const std::function<void(std::string_view block)>& on_block) {
  std::vector<char> block(block_bytes);
  bool first = true;
  while (!cancel.cancelled()) {
    pollfd readable{fd_.get(), POLLIN, 0};
    const int ready = poll(&readable, 1, static_cast<int>(cancel_interval_ns / ns_per_ms));
    if (ready == 0 || (ready < 0 && errno == EINTR)) continue;
    const ssize_t n = ::read(fd_.get(), block.data(), block.size());
    if (n < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (n < 0) return cannot(errno, "cannot be read", name_);
    if (n == 0) return true;
    const std::string_view bytes(block.data(), static_cast<std::size_t>(n));
    if (std::exchange(first, false)) {
      for (const OtherFormat& format : other_formats) {
        if (bytes.starts_with(format.magic)) {
          return fail(ErrorKind::bad_file, format.what, name_, format.hint);
        }
      }
    }
    on_block(bytes);
  }
  return false;
}

}  // namespace assay::station
