#include "reports/journal/journal_writer.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>

namespace assay::reports {

Result<JournalWriter> JournalWriter::create(const std::string& path) {
  UniqueFd fd(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0644));
  if (!fd) return fail_errno(errno, "cannot create the journal", path);
  if (flock(fd.get(), LOCK_EX | LOCK_NB) != 0) {
    return fail_errno(errno, "cannot lock the journal", path);
  }
  return JournalWriter(std::move(fd), path);
}

Result<> JournalWriter::append(std::string_view line) {
  std::string text(line);
  text += '\n';
  std::string_view rest = text;
  while (!rest.empty()) {
    const ssize_t n = ::write(fd_.get(), rest.data(), rest.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return fail_errno(errno, "cannot write the journal", path_);
    rest.remove_prefix(static_cast<std::size_t>(n));
  }
  return {};
}

Result<> JournalWriter::sync() {
  if (fdatasync(fd_.get()) != 0) return fail_errno(errno, "cannot sync the journal", path_);
  return {};
}

}  // namespace assay::reports
