#include "base/atomic_file.h"

#include <filesystem>
#include <span>

namespace assay {

Result<> write_file_atomically(const std::string& path, std::string_view content,
                               Durability durability) {
  auto output = AtomicOutput::create(path);
  if (!output) return std::unexpected(output.error());
  if (auto written = output->write(std::as_bytes(std::span(content))); !written) return written;
  return output->commit(durability);
}

Result<> make_folders(const std::string& path) {
  std::error_code error;
  std::filesystem::create_directories(path, error);
  if (error) return fail(ErrorKind::io, "cannot create folder: " + error.message(), path);
  return {};
}

}  // namespace assay
