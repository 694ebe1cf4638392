// The .npu file: a compiled model, as it lies on disk. All numbers are little endian.
//
//   header    128 bytes, below
//   chunks    each from a multiple of chunk_alignment on, so that it can be mapped on machines with
//             pages of up to 64 KiB: the model's metadata, the tensors that every token needs, or
//             one expert of one layer
//   index     chunk records, piece records, tensor records, strings; nothing follows it
//
// A chunk is cut into pieces of piece_bytes (the last may be shorter). Each is stored as it is or
// packed by itself, and has a checksum of its own, so that pieces are read, unfolded and checked by
// several threads, with a bounded buffer, in any order. A piece that packing does not make smaller
// is stored as it is, whatever the chunk's codec.
//
// The metadata chunk is a GGUF file without tensors: shape, tokenizer and chat template are read by
// the same code, whatever the model came from.
//
// Header                                       Chunk record, 40 bytes
//   0  magic, 8 bytes                            0  u64 offset of its first piece in the file
//   8  u32 version                               8  u64 stored bytes, of all its pieces
//  12  u32 chunks                               16  u64 bytes when unfolded, not 0
//  16  u64 tensors                              24  u32 layer, no_layer when of none
//  24  u64 index offset                         28  u32 expert, 0 when of none
//  32  u64 index bytes                          32  u32 first piece, in the piece records
//  40  u64 file bytes                           36  u8 kind, u8 codec, u16 zero
//  48  u64 largest chunk allowed, 0: any      Piece record, 12 bytes
//  56  u32 expert cache entries, 0: dense        0  u64 XXH3 of the unfolded bytes
//  60  u32 pieces                                8  u32 stored bytes
//  64  u64 XXH3 of the index, seeded with     Tensor record, 40 bytes
//          that of the header with 0 here        0  u64 rows, 8 u64 columns
//  72  u32 string bytes                         16  u64 offset in the unfolded chunk, 24 u64 bytes
//  76  target board, 52 bytes, padded with 0    32  u32 chunk
//                                               36  u16 length of its name, u16 of its type's name
// Strings: of each tensor its name and its type's name, in their order, without gaps.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace assay::runtime::npu {

// As PNG's: a file that was sent as text is told from one that is damaged.
inline constexpr std::array<std::uint8_t, 8> magic{0x89, 'N', 'P', 'U', '\r', '\n', 0x1A, '\n'};
inline constexpr std::uint32_t version = 1;
inline constexpr std::size_t header_bytes = 128;
inline constexpr std::size_t chunk_record_bytes = 40;
inline constexpr std::size_t piece_record_bytes = 12;
inline constexpr std::size_t tensor_record_bytes = 40;
inline constexpr std::size_t target_bytes = 52;
inline constexpr std::uint64_t chunk_alignment = 65'536;
inline constexpr std::uint32_t piece_bytes = 1U << 20;
inline constexpr std::uint64_t tensor_alignment = 64;
inline constexpr std::uint32_t no_layer = 0xFFFF'FFFF;

enum class ChunkKind : std::uint8_t { metadata, shared, expert };
enum class Codec : std::uint8_t { none, lz4, zstd };

// "none", "lz4", "zstd".
std::string_view name_of(Codec codec);

struct Chunk {
  ChunkKind kind = ChunkKind::shared;
  Codec codec = Codec::none;
  std::uint32_t layer = no_layer;
  std::uint32_t expert = 0;
  std::uint64_t bytes = 0;  // unfolded
  std::uint64_t offset = 0;
  std::uint64_t stored_bytes = 0;
  std::uint32_t first_piece = 0;

  std::uint64_t pieces() const { return bytes / piece_bytes + (bytes % piece_bytes != 0 ? 1 : 0); }
};

struct Piece {
  std::uint64_t checksum = 0;  // XXH3 of the unfolded bytes
  std::uint32_t stored_bytes = 0;
};

struct Tensor {
  std::string name;  // as in GGUF: "blk.0.attn_q.weight"
  std::string type;  // as name_of(TensorType) has it
  std::uint64_t rows = 0;
  std::uint64_t cols = 0;
  std::uint32_t chunk = 0;
  std::uint64_t offset = 0;  // in the unfolded chunk; a multiple of tensor_alignment
  std::uint64_t bytes = 0;
};

struct Description {
  std::string target_board;  // empty: any
  std::uint32_t expert_cache_entries = 0;
  std::uint64_t max_chunk_bytes = 0;  // of any but the metadata's; 0: any
};

}  // namespace assay::runtime::npu
