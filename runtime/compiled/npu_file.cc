#include "runtime/compiled/npu_file.h"

#include <fmt/core.h>

#include <utility>

namespace assay::runtime::npu {

Result<NpuFile> NpuFile::open(const std::string& path) {
  auto file = MappedFile::open(path);
  if (!file) return std::unexpected(file.error());
  const auto bytes = file->bytes();
  const auto named = [&path](Error error) {
    error.where = path;
    return std::unexpected(std::move(error));
  };
  if (bytes.size() < header_bytes) {
    return fail(ErrorKind::bad_file,
                fmt::format("not a .npu file: it has {} bytes, the header alone has {}",
                            bytes.size(), header_bytes),
                path);
  }
  const auto header = bytes.first(header_bytes);
  const auto place = find_index(header, bytes.size());
  if (!place) return named(place.error());
  auto index = parse_index(header, bytes.subspan(place->offset, place->bytes));
  if (!index) return named(index.error());
  return NpuFile(std::move(*file), std::move(*index));
}

std::span<const std::byte> NpuFile::mapped(const Chunk& chunk) const {
  if (chunk.stored_bytes != chunk.bytes) return {};
  return file_.bytes().subspan(chunk.offset, chunk.bytes);
}

}  // namespace assay::runtime::npu
