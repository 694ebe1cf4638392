// A GGUF file, opened: its index is read and checked, its tensors are mapped.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <utility>

#include "base/mapped_file.h"
#include "base/result.h"
#include "runtime/gguf/index.h"

namespace assay::runtime::gguf {

// Can be moved. Calls on it are safe from any thread.
class GgufFile {
 public:
  // Errors: MappedFile's; bad_file.
  static Result<GgufFile> open(const std::string& path);

  const std::string& path() const { return file_.path(); }
  std::uint64_t file_bytes() const { return file_.bytes().size(); }
  const Index& index() const { return index_; }
  // `tensor` is one of the index.
  std::span<const std::byte> bytes_of(const Tensor& tensor) const {
    return file_.bytes().subspan(tensor.offset, tensor.bytes);
  }

 private:
  GgufFile(MappedFile file, Index index) : file_(std::move(file)), index_(std::move(index)) {}

  MappedFile file_;
  Index index_;
};

}  // namespace assay::runtime::gguf
