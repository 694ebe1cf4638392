// What holds for every index that was read without an error, whatever its bytes were.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>

#include "base/utf8.h"
#include "runtime/compiled/npu_file.h"

namespace assay::test {

// The first property that does not hold; empty when all do. The index lies at `index_offset`.
inline std::string broken_property(const runtime::npu::Index& index, std::uint64_t index_offset) {
  using namespace runtime::npu;
  std::uint64_t end = header_bytes;
  std::uint64_t pieces = 0;
  for (const Chunk& chunk : index.chunks) {
    if (chunk.offset < end || chunk.offset % chunk_alignment != 0) return "chunks do not overlap";
    end = chunk.offset + chunk.stored_bytes;
    if (end < chunk.offset || end > index_offset) return "a chunk lies in front of the index";
    if (chunk.bytes == 0) return "a chunk has bytes";
    const std::uint64_t most = index.description.max_chunk_bytes;
    if (chunk.kind != ChunkKind::metadata && most != 0 && chunk.bytes > most) {
      return "no chunk is larger than the file says";
    }
    if (chunk.first_piece != pieces) return "pieces follow each other";
    pieces += chunk.pieces();
    if (pieces > index.pieces.size()) return "a chunk has all its pieces";
    std::uint64_t stored = 0;
    std::uint64_t left = chunk.bytes;
    for (const Piece& piece : index.pieces_of(chunk)) {
      const std::uint64_t unfolded = std::min<std::uint64_t>(left, piece_bytes);
      if (piece.stored_bytes == 0 || piece.stored_bytes > unfolded) {
        return "a piece is not larger than what it unfolds to";
      }
      left -= unfolded;
      stored += piece.stored_bytes;
    }
    if (left != 0) return "the pieces unfold to the chunk";
    if (stored != chunk.stored_bytes) return "the pieces are what the chunk stores";
  }
  if (pieces != index.pieces.size()) return "every piece belongs to a chunk";
  std::uint32_t chunk = 0;
  std::uint64_t free_from = 0;
  for (const Tensor& tensor : index.tensors) {
    if (tensor.chunk < chunk || tensor.chunk >= index.chunks.size()) return "a tensor has a chunk";
    if (tensor.chunk != chunk) free_from = 0;
    chunk = tensor.chunk;
    if (tensor.offset < free_from || tensor.offset % tensor_alignment != 0) {
      return "tensors do not overlap";
    }
    free_from = tensor.offset + tensor.bytes;
    if (tensor.bytes == 0 || free_from < tensor.offset || free_from > index.chunks[chunk].bytes) {
      return "a tensor lies in its chunk";
    }
    if (tensor.rows == 0 || tensor.cols == 0) return "a tensor has rows and columns";
    if (tensor.rows > UINT32_MAX || tensor.cols > UINT32_MAX) return "rows x columns is a number";
    if (tensor.name.empty() || tensor.type.empty()) return "a tensor has a name and a type";
    if (to_printable(tensor.name) != tensor.name || to_printable(tensor.type) != tensor.type) {
      return "a name is safe to print";
    }
  }
  if (to_printable(index.description.target_board) != index.description.target_board) {
    return "the board's name is safe to print";
  }
  return {};
}

}  // namespace assay::test
