// A file's bytes, read by the kernel as they are touched.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "base/fd.h"
#include "base/result.h"

namespace assay {

// Can be moved: the bytes stay where they are. Calls on it are safe from any thread. A file that
// someone shortens meanwhile is a SIGBUS where its bytes were; one that is replaced is not.
class MappedFile {
 public:
  // Errors: open_regular_file()'s; io. An empty file has no bytes and is no error.
  static Result<MappedFile> open(const std::string& path);
  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&&) = delete;
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  ~MappedFile();

  const std::string& path() const { return path_; }
  int fd() const { return fd_.get(); }
  std::span<const std::byte> bytes() const { return bytes_; }

 private:
  MappedFile(std::string path, UniqueFd fd, std::span<const std::byte> bytes);

  std::string path_;
  UniqueFd fd_;
  std::span<const std::byte> bytes_;
};

}  // namespace assay
