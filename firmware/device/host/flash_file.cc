#include "firmware/device/host/flash_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <vector>

namespace assay::firmware::device::host {
namespace {

constexpr std::uint32_t chip_bytes = FlashFile::layout.slots[1] + FlashFile::layout.slot_bytes;

bool write_all(int fd, std::uint32_t offset, const std::uint8_t* bytes, std::size_t size) {
  while (size > 0) {
    const ssize_t n = pwrite(fd, bytes, size, offset);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    bytes += n;
    offset += static_cast<std::uint32_t>(n);
    size -= static_cast<std::size_t>(n);
  }
  return true;
}

bool read_all(int fd, std::uint32_t offset, std::uint8_t* bytes, std::size_t size) {
  while (size > 0) {
    const ssize_t n = pread(fd, bytes, size, offset);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    bytes += n;
    offset += static_cast<std::uint32_t>(n);
    size -= static_cast<std::size_t>(n);
  }
  return true;
}

}  // namespace

bool FlashFile::open(const std::string& path, std::string* error) {
  fd_ = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
  struct stat info {};
  if (fd_ < 0 || fstat(fd_, &info) != 0) {
    *error = path + ": " + std::strerror(errno);
    return false;
  }
  if (flock(fd_, LOCK_EX | LOCK_NB) != 0) {
    *error = path + ": another process uses this chip";
    return false;
  }
  if (info.st_size == 0) {
    const std::vector<std::uint8_t> erased(chip_bytes, 0xFF);
    if (!write_all(fd_, 0, erased.data(), erased.size())) {
      *error = path + ": " + std::strerror(errno);
      return false;
    }
  } else if (info.st_size != chip_bytes) {
    *error = path + ": has another size than the chip";
    return false;
  }
  return true;
}

FlashFile::~FlashFile() {
  if (fd_ >= 0) ::close(fd_);
}

Flash FlashFile::chip() {
  return {
      this, sector_bytes,
      [](void* self, std::uint32_t offset, std::uint8_t* out, std::uint32_t size) {
        return read_all(static_cast<FlashFile*>(self)->fd_, offset, out, size);
      },
      [](void* self, std::uint32_t offset) { return static_cast<FlashFile*>(self)->erase(offset); },
      [](void* self, std::uint32_t offset, const std::uint8_t* bytes, std::uint32_t size) {
        return static_cast<FlashFile*>(self)->program(offset, bytes, size);
      }};
}

bool FlashFile::erase(std::uint32_t offset) const {
  const std::vector<std::uint8_t> erased(sector_bytes, 0xFF);
  return offset % sector_bytes == 0 && write_all(fd_, offset, erased.data(), erased.size());
}

// Bits go from 1 to 0 only. What a missing erase would do shows as an error.
bool FlashFile::program(std::uint32_t offset, const std::uint8_t* bytes, std::uint32_t size) const {
  std::vector<std::uint8_t> now(size);
  if (!read_all(fd_, offset, now.data(), size)) return false;
  for (std::uint32_t i = 0; i < size; ++i) {
    if ((now[i] & bytes[i]) != bytes[i]) return false;
    now[i] &= bytes[i];
  }
  return write_all(fd_, offset, now.data(), size);
}

}  // namespace assay::firmware::device::host
