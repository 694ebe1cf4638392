#include "runtime/gguf/gguf_file.h"

namespace assay::runtime::gguf {

Result<GgufFile> GgufFile::open(const std::string& path) {
  auto file = MappedFile::open(path);
  if (!file) return std::unexpected(file.error());
  auto index = parse_index(file->bytes());
  if (!index) {
    index.error().where = path;
    return std::unexpected(index.error());
  }
  return GgufFile(std::move(*file), std::move(*index));
}

}  // namespace assay::runtime::gguf
