#include "reports/journal/journal_reader.h"

#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <vector>

#include "base/regular_file.h"

namespace assay::reports {

Result<JournalReader> JournalReader::open(const std::string& path) {
  auto fd = open_regular_file(path);
  if (!fd) return std::unexpected(fd.error());
  return JournalReader(std::move(*fd), path);
}

Result<std::uint64_t> JournalReader::poll(const OnEvent& on_event, std::uint64_t max_bytes) {
  std::vector<char> buffer(1 << 16);
  std::uint64_t read_bytes = 0;
  std::uint64_t handed_over = 0;
  while (read_bytes < max_bytes) {
    const ssize_t n = ::read(fd_.get(), buffer.data(), buffer.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return fail_errno(errno, "cannot read the journal", path_);
    if (n == 0) break;
    read_bytes += static_cast<std::uint64_t>(n);
    std::string_view rest(buffer.data(), static_cast<std::size_t>(n));
    for (std::size_t end = rest.find('\n'); end != rest.npos; end = rest.find('\n')) {
      ++lines_;
      ++handed_over;
      partial_.append(rest.substr(0, end));
      rest.remove_prefix(end + 1);
      if (skipping_) {
        on_event(fail(ErrorKind::protocol, "a line of over 1 MiB"), lines_);
      } else {
        on_event(parse_line(partial_), lines_);
      }
      partial_.clear();
      skipping_ = false;
    }
    if (!skipping_) partial_.append(rest);
    if (partial_.size() > max_line_bytes) {
      partial_.clear();
      skipping_ = true;
    }
  }
  return handed_over;
}

bool JournalReader::is_being_written() const {
  if (flock(fd_.get(), LOCK_SH | LOCK_NB) != 0) return errno == EWOULDBLOCK;
  flock(fd_.get(), LOCK_UN);
  return false;
}

}  // namespace assay::reports
