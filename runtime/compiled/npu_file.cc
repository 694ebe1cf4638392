#include "runtime/compiled/npu_file.h"

#include <fmt/core.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/regular_file.h"

namespace assay::runtime::npu {

NpuFile::NpuFile(std::string path, UniqueFd fd, std::span<const std::byte> map)
    : path_(std::move(path)), fd_(std::move(fd)), map_(map) {}

NpuFile::NpuFile(NpuFile&& other) noexcept
    : path_(std::move(other.path_)),
      fd_(std::move(other.fd_)),
      map_(std::exchange(other.map_, {})),
      index_(std::move(other.index_)) {}

NpuFile::~NpuFile() {
  if (!map_.empty()) ::munmap(const_cast<std::byte*>(map_.data()), map_.size());
}

Result<NpuFile> NpuFile::open(const std::string& path) {
  auto fd = open_regular_file(path);
  if (!fd) return std::unexpected(fd.error());
  struct stat status {};
  if (::fstat(fd->get(), &status) != 0) return fail_errno(errno, "cannot read", path);
  const auto size = static_cast<std::size_t>(status.st_size);
  const auto named = [&path](Error error) {
    error.where = path;
    return std::unexpected(std::move(error));
  };
  if (size < header_bytes) {
    return fail(ErrorKind::bad_file,
                fmt::format("not a .npu file: it has {} bytes, the header alone has {}", size,
                            header_bytes),
                path);
  }
  void* address = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, fd->get(), 0);
  if (address == MAP_FAILED) return fail_errno(errno, "cannot map", path);
  NpuFile file(path, std::move(*fd), {static_cast<const std::byte*>(address), size});
  const auto header = file.map_.first(header_bytes);
  const auto place = find_index(header, size);
  if (!place) return named(place.error());
  auto index = parse_index(header, file.map_.subspan(place->offset, place->bytes));
  if (!index) return named(index.error());
  file.index_ = std::move(*index);
  return file;
}

std::span<const std::byte> NpuFile::mapped(const Chunk& chunk) const {
  if (chunk.stored_bytes != chunk.bytes) return {};
  return map_.subspan(chunk.offset, chunk.bytes);
}

}  // namespace assay::runtime::npu
