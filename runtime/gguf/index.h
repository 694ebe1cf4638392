// What stands in front of the weights of a GGUF file: its metadata and where each tensor lies.
//
// Source: the GGUF specification (ggml, docs/gguf.md), versions 2 and 3, little endian.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "runtime/gguf/gguf_type.h"
#include "runtime/gguf/value.h"

namespace assay::runtime::gguf {

struct Entry {
  std::string_view key;  // printable ASCII, not empty
  Value value;
};

struct Tensor {
  std::string_view name;  // printable ASCII, not empty
  GgufType type = GgufType::f32;
  // Elements along each dimension, the one that lies together first: columns, rows, matrices.
  // Those that the file does not have are 1. The first is a multiple of the type's block.
  std::array<std::uint64_t, 4> dims = {1, 1, 1, 1};
  std::uint32_t dim_count = 0;  // 1..4
  std::uint64_t offset = 0;     // from the file's first byte; a multiple of the file's alignment
  std::uint64_t bytes = 0;

  std::uint64_t elements() const { return dims[0] * dims[1] * dims[2] * dims[3]; }
};

// Refers to the bytes that it was parsed from, which must outlive it.
class Index {
 public:
  std::uint32_t version() const { return version_; }
  std::uint64_t alignment() const { return alignment_; }
  // In the file's order. No key and no name is there twice; tensors do not overlap.
  std::span<const Entry> metadata() const { return metadata_; }
  std::span<const Tensor> tensors() const { return tensors_; }

  // Null when there is none.
  const Value* find(std::string_view key) const;
  const Tensor* tensor(std::string_view name) const;

 private:
  friend Result<Index> parse_index(std::span<const std::byte> file);

  std::uint32_t version_ = 0;
  std::uint64_t alignment_ = 32;
  std::vector<Entry> metadata_;
  std::vector<Tensor> tensors_;
  std::vector<std::uint32_t> keys_;   // of metadata_, ascending by key
  std::vector<std::uint32_t> names_;  // of tensors_, ascending by name
};

// `file` is a whole file; of the tensors' bytes none is touched. Memory is taken in proportion to
// the bytes in front of them, whatever counts they claim. Errors: bad_file, one line that names the
// byte or the tensor; `where` is left to the caller.
Result<Index> parse_index(std::span<const std::byte> file);

}  // namespace assay::runtime::gguf
