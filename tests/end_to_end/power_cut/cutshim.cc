// cutshim.so, preloaded into QEMU: cuts the power inside a chosen write to the file CUT_FILE. A
// part of the bytes goes through, then the process kills itself as a power cut would. CUT_CONTROL
// is the file with the page of cut_control.h.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>

#include "tests/end_to_end/power_cut/cut_control.h"

namespace {

using assay::test::CutControl;

struct Shim {
  CutControl* control = nullptr;
  struct stat file {};
};

const Shim& shim() {
  static const Shim instance = [] {
    Shim made;
    const char* const file = std::getenv("CUT_FILE");
    const char* const control = std::getenv("CUT_CONTROL");
    if (file == nullptr || control == nullptr || ::stat(file, &made.file) != 0) return made;
    const int fd = ::open(control, O_RDWR | O_CLOEXEC);
    void* const page =
        ::mmap(nullptr, sizeof(CutControl), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    ::close(fd);
    if (page != MAP_FAILED) made.control = static_cast<CutControl*>(page);
    return made;
  }();
  return instance;
}

// Not by the library's function: that is this one.
ssize_t kernel_write(int fd, const void* bytes, std::size_t size, off_t at) {
  return ::syscall(SYS_pwrite64, fd, bytes, size, at);
}

[[noreturn]] void cut(int fd, const iovec* parts, int count, off_t at, std::uint64_t let_through) {
  for (int i = 0; i < count && let_through > 0; ++i) {
    const std::size_t size = std::min<std::uint64_t>(parts[i].iov_len, let_through);
    (void)kernel_write(fd, parts[i].iov_base, size, at);
    at += static_cast<off_t>(size);
    let_through -= size;
  }
  for (;;) ::kill(::getpid(), SIGKILL);
}

ssize_t write_parts(int fd, const iovec* parts, int count, off_t at) {
  CutControl* const control = shim().control;
  struct stat info {};
  const bool ours = control != nullptr && ::fstat(fd, &info) == 0 &&
                    info.st_dev == shim().file.st_dev && info.st_ino == shim().file.st_ino;
  std::uint64_t size = 0;
  for (int i = 0; i < count; ++i) size += parts[i].iov_len;
  if (ours) {
    control->current_offset = static_cast<std::uint64_t>(at);
    control->current_size = size;
    if (control->writes_left >= 0 && control->size == size && control->writes_left-- == 0) {
      cut(fd, parts, count, at, control->let_through);
    }
  }
  const ssize_t written = count == 1 ? kernel_write(fd, parts[0].iov_base, parts[0].iov_len, at)
                                     : ::syscall(SYS_pwritev, fd, parts, count, at, off_t{0});
  if (ours) control->current_size = 0;
  return written;
}

ssize_t write_one(int fd, const void* bytes, std::size_t size, off_t at) {
  const iovec part{const_cast<void*>(bytes), size};
  return write_parts(fd, &part, 1, at);
}

}  // namespace

extern "C" {

ssize_t pwrite(int fd, const void* bytes, std::size_t size, off_t at) {
  return write_one(fd, bytes, size, at);
}
ssize_t pwrite64(int fd, const void* bytes, std::size_t size, off_t at) {
  return write_one(fd, bytes, size, at);
}
ssize_t pwritev(int fd, const iovec* parts, int count, off_t at) {
  return write_parts(fd, parts, count, at);
}
ssize_t pwritev64(int fd, const iovec* parts, int count, off_t at) {
  return write_parts(fd, parts, count, at);
}

}  // extern "C"
