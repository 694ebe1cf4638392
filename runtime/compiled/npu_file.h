// Opens a .npu file: reads its header and index, and maps the rest. Opening touches no weights, so
// its time does not depend on their size; a chunk's bytes are checked as they are read
// (chunk_reader.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/mapped_file.h"
#include "base/result.h"
#include "runtime/compiled/npu_format.h"

namespace assay::runtime::npu {

struct Index {
  Description description;
  std::vector<Chunk> chunks;    // ascending by offset, without overlap
  std::vector<Piece> pieces;    // of all chunks, in their order
  std::vector<Tensor> tensors;  // ascending by chunk and offset, without overlap

  std::span<const Piece> pieces_of(const Chunk& chunk) const;
};

// `header` are the first header_bytes of a file of `file_bytes`; the result is where its index
// lies. Errors: bad_file, one line.
struct IndexPlace {
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;
};
Result<IndexPlace> find_index(std::span<const std::byte> header, std::uint64_t file_bytes);

// `index` are the bytes that find_index() named. Memory is taken in proportion to them. Errors:
// bad_file, one line.
Result<Index> parse_index(std::span<const std::byte> header, std::span<const std::byte> index);

// The checksum that belongs into a header of these bytes.
std::uint64_t checksum_of(std::span<const std::byte> header, std::span<const std::byte> index);

// Can be moved. Calls on it are safe from any thread.
class NpuFile {
 public:
  // Errors: MappedFile's; bad_file.
  static Result<NpuFile> open(const std::string& path);

  const std::string& path() const { return file_.path(); }
  const Index& index() const { return index_; }
  std::uint64_t file_bytes() const { return file_.bytes().size(); }
  int fd() const { return file_.fd(); }

  // The bytes of a chunk whose pieces are all stored as they are, read by the kernel as they are
  // touched and not checked; empty for one with a packed piece.
  std::span<const std::byte> mapped(const Chunk& chunk) const;

 private:
  NpuFile(MappedFile file, Index index) : file_(std::move(file)), index_(std::move(index)) {}

  MappedFile file_;
  Index index_;
};

}  // namespace assay::runtime::npu
