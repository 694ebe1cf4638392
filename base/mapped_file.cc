#include "base/mapped_file.h"

#include <sys/mman.h>
#include <sys/stat.h>

#include <cerrno>
#include <utility>

#include "base/regular_file.h"

namespace assay {

MappedFile::MappedFile(std::string path, UniqueFd fd, std::span<const std::byte> bytes)
    : path_(std::move(path)), fd_(std::move(fd)), bytes_(bytes) {}

MappedFile::MappedFile(MappedFile&& other) noexcept
    : path_(std::move(other.path_)),
      fd_(std::move(other.fd_)),
      bytes_(std::exchange(other.bytes_, {})) {}

MappedFile::~MappedFile() {
  if (!bytes_.empty()) ::munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
}

Result<MappedFile> MappedFile::open(const std::string& path) {
  auto fd = open_regular_file(path);
  if (!fd) return std::unexpected(fd.error());
  struct stat status {};
  if (::fstat(fd->get(), &status) != 0) return fail_errno(errno, "cannot read", path);
  const auto size = static_cast<std::size_t>(status.st_size);
  if (size == 0) return MappedFile(path, std::move(*fd), {});
  void* address = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, fd->get(), 0);
  if (address == MAP_FAILED) return fail_errno(errno, "cannot map", path);
  return MappedFile(path, std::move(*fd), {static_cast<const std::byte*>(address), size});
}

}  // namespace assay
