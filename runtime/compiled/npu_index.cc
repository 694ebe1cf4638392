// The index of a .npu file, from bytes that nobody vouches for.
#include <fmt/core.h>
#include <xxhash.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <optional>
#include <type_traits>
#include <utility>

#include "base/utf8.h"
#include "runtime/compiled/npu_file.h"

namespace assay::runtime::npu {
namespace {

constexpr std::size_t checksum_offset = 64;

template <class T>
T number_at(std::span<const std::byte> bytes, std::size_t offset) {
  static_assert(std::is_unsigned_v<T>);
  T value = 0;
  for (std::size_t i = sizeof(T); i-- > 0;) {
    value = static_cast<T>(value << 8 | std::to_integer<std::uint8_t>(bytes[offset + i]));
  }
  return value;
}

std::unexpected<Error> bad(std::string what) {
  return fail(ErrorKind::bad_file, std::move(what), {}, "compile the model again");
}

bool is_printable(std::string_view text) {
  return to_printable(text) == text;
}

std::uint64_t aligned(std::uint64_t offset) {
  return (offset + chunk_alignment - 1) / chunk_alignment * chunk_alignment;
}

struct Counts {
  std::uint64_t chunks;
  std::uint64_t pieces;
  std::uint64_t tensors;
  std::uint64_t strings;

  explicit Counts(std::span<const std::byte> header)
      : chunks(number_at<std::uint32_t>(header, 12)),
        pieces(number_at<std::uint32_t>(header, 60)),
        tensors(number_at<std::uint64_t>(header, 16)),
        strings(number_at<std::uint32_t>(header, 72)) {}

  // Nothing: more than there are bytes in the world.
  std::optional<std::uint64_t> index_bytes() const {
    constexpr std::uint64_t most_tensors = std::uint64_t{1} << 32;
    if (tensors > most_tensors) return std::nullopt;
    return chunks * chunk_record_bytes + pieces * piece_record_bytes +
           tensors * tensor_record_bytes + strings;
  }
};

Result<Description> parse_description(std::span<const std::byte> header) {
  Description description;
  const auto* target = reinterpret_cast<const char*>(header.data()) + 76;
  description.target_board.assign(target, ::strnlen(target, target_bytes));
  if (!is_printable(description.target_board)) return bad("the target board's name is no text");
  description.expert_cache_entries = number_at<std::uint32_t>(header, 56);
  description.max_chunk_bytes = number_at<std::uint64_t>(header, 48);
  return description;
}

// `free_from` is where the chunk before it ends, and becomes where this one does.
Result<Chunk> parse_chunk(std::span<const std::byte> record, std::size_t number,
                          std::uint64_t& free_from, std::uint64_t index_offset) {
  Chunk chunk;
  chunk.offset = number_at<std::uint64_t>(record, 0);
  chunk.stored_bytes = number_at<std::uint64_t>(record, 8);
  chunk.bytes = number_at<std::uint64_t>(record, 16);
  chunk.layer = number_at<std::uint32_t>(record, 24);
  chunk.expert = number_at<std::uint32_t>(record, 28);
  chunk.first_piece = number_at<std::uint32_t>(record, 32);
  const auto kind = number_at<std::uint8_t>(record, 36);
  const auto codec = number_at<std::uint8_t>(record, 37);
  if (kind > static_cast<std::uint8_t>(ChunkKind::expert)) {
    return bad(fmt::format("chunk {} is of an unknown kind, {}", number, kind));
  }
  if (codec > static_cast<std::uint8_t>(Codec::zstd)) {
    return bad(fmt::format("chunk {} is packed in an unknown way, {}", number, codec));
  }
  chunk.kind = static_cast<ChunkKind>(kind);
  chunk.codec = static_cast<Codec>(codec);
  if (chunk.bytes == 0 || chunk.stored_bytes == 0 || chunk.stored_bytes > chunk.bytes) {
    return bad(fmt::format("chunk {} says that {} bytes are stored for its {}", number,
                           chunk.stored_bytes, chunk.bytes));
  }
  if (chunk.offset % chunk_alignment != 0 || chunk.offset < free_from ||
      chunk.offset > index_offset || chunk.stored_bytes > index_offset - chunk.offset) {
    return bad(
        fmt::format("chunk {} is said to lie at byte {} with {} bytes, which is misaligned, "
                    "in another one or outside the file",
                    number, chunk.offset, chunk.stored_bytes));
  }
  free_from = aligned(chunk.offset + chunk.stored_bytes);
  return chunk;
}

// The pieces of one chunk: as many as it needs, and together what it stores.
Result<> parse_pieces(std::span<const std::byte> records, const Chunk& chunk, std::size_t number,
                      std::vector<Piece>& pieces) {
  const std::uint64_t left = records.size() / piece_record_bytes - pieces.size();
  if (chunk.first_piece != pieces.size() || chunk.pieces() > left) {
    return bad(
        fmt::format("chunk {} needs {} pieces, and {} are left", number, chunk.pieces(), left));
  }
  std::uint64_t stored = 0;
  for (std::uint64_t i = 0; i < chunk.pieces(); ++i) {
    const auto record = records.subspan(pieces.size() * piece_record_bytes, piece_record_bytes);
    const Piece piece{number_at<std::uint64_t>(record, 0), number_at<std::uint32_t>(record, 8)};
    const std::uint64_t unfolded =
        std::min<std::uint64_t>(piece_bytes, chunk.bytes - i * piece_bytes);
    if (piece.stored_bytes == 0 || piece.stored_bytes > unfolded ||
        (chunk.codec == Codec::none && piece.stored_bytes != unfolded)) {
      return bad(fmt::format("chunk {}, piece {}: {} bytes are said to be stored for {}", number, i,
                             piece.stored_bytes, unfolded));
    }
    stored += piece.stored_bytes;
    pieces.push_back(piece);
  }
  if (stored != chunk.stored_bytes) {
    return bad(
        fmt::format("chunk {} stores {} bytes, its pieces {}", number, chunk.stored_bytes, stored));
  }
  return {};
}

// `strings` are those of this tensor and the ones behind it; its own are taken off.
Result<Tensor> parse_tensor(std::span<const std::byte> record, std::string_view& strings,
                            std::size_t number, std::span<const Chunk> chunks,
                            const Tensor* before) {
  Tensor tensor;
  tensor.rows = number_at<std::uint64_t>(record, 0);
  tensor.cols = number_at<std::uint64_t>(record, 8);
  tensor.offset = number_at<std::uint64_t>(record, 16);
  tensor.bytes = number_at<std::uint64_t>(record, 24);
  tensor.chunk = number_at<std::uint32_t>(record, 32);
  const std::size_t name_length = number_at<std::uint16_t>(record, 36);
  const std::size_t type_length = number_at<std::uint16_t>(record, 38);
  if (name_length + type_length > strings.size() || name_length == 0 || type_length == 0) {
    return bad(fmt::format("tensor {} has no name", number));
  }
  tensor.name = strings.substr(0, name_length);
  tensor.type = strings.substr(name_length, type_length);
  strings.remove_prefix(name_length + type_length);
  if (!is_printable(tensor.name) || !is_printable(tensor.type)) {
    return bad(fmt::format("tensor {}: its name is no text", number));
  }
  constexpr std::uint64_t most = std::numeric_limits<std::uint32_t>::max();
  if (tensor.rows == 0 || tensor.cols == 0 || tensor.rows > most || tensor.cols > most) {
    return bad(fmt::format("{} is said to be of {} x {}", tensor.name, tensor.rows, tensor.cols));
  }
  if (tensor.chunk >= chunks.size()) {
    return bad(fmt::format("{} is said to lie in chunk {} of {}", tensor.name, tensor.chunk,
                           chunks.size()));
  }
  const std::uint64_t room = chunks[tensor.chunk].bytes;
  const bool follows =
      before == nullptr || before->chunk < tensor.chunk ||
      (before->chunk == tensor.chunk && before->offset + before->bytes <= tensor.offset);
  if (tensor.offset % tensor_alignment != 0 || tensor.offset > room || tensor.bytes == 0 ||
      tensor.bytes > room - tensor.offset || !follows) {
    return bad(
        fmt::format("{} is said to lie at byte {} of chunk {} with {} bytes, which is "
                    "misaligned, in another tensor or outside the chunk",
                    tensor.name, tensor.offset, tensor.chunk, tensor.bytes));
  }
  return tensor;
}

}  // namespace

std::span<const Piece> Index::pieces_of(const Chunk& chunk) const {
  return std::span(pieces).subspan(chunk.first_piece, chunk.pieces());
}

std::uint64_t checksum_of(std::span<const std::byte> header, std::span<const std::byte> index) {
  std::array<std::byte, header_bytes> blank{};
  std::copy_n(header.begin(), header_bytes, blank.begin());
  std::fill_n(blank.begin() + checksum_offset, sizeof(std::uint64_t), std::byte{0});
  return XXH3_64bits_withSeed(index.data(), index.size(), XXH3_64bits(blank.data(), blank.size()));
}

Result<IndexPlace> find_index(std::span<const std::byte> header, std::uint64_t file_bytes) {
  if (!std::equal(magic.begin(), magic.end(), header.begin(),
                  [](std::uint8_t a, std::byte b) { return std::byte{a} == b; })) {
    return fail(ErrorKind::bad_file, "not a .npu file: it does not begin with that file's magic",
                {}, "assay model compile makes one from a GGUF file");
  }
  if (const auto found = number_at<std::uint32_t>(header, 8); found != version) {
    return bad(
        fmt::format("the file is of version {}; this program reads version {}", found, version));
  }
  const auto said = number_at<std::uint64_t>(header, 40);
  if (said != file_bytes) {
    return bad(
        fmt::format("the file has {} bytes and says that it has {}: it was cut off, or "
                    "something was added",
                    file_bytes, said));
  }
  const IndexPlace place{number_at<std::uint64_t>(header, 24),
                         number_at<std::uint64_t>(header, 32)};
  const auto needed = Counts(header).index_bytes();
  if (place.offset < header_bytes || place.offset > file_bytes ||
      place.bytes != file_bytes - place.offset || needed != place.bytes) {
    return bad(
        fmt::format("the index is said to lie at byte {} with {} bytes, which its counts and "
                    "the file's size contradict",
                    place.offset, place.bytes));
  }
  return place;
}

Result<Index> parse_index(std::span<const std::byte> header, std::span<const std::byte> bytes) {
  if (checksum_of(header, bytes) != number_at<std::uint64_t>(header, checksum_offset)) {
    return bad("header and index do not have the checksum that they were written with");
  }
  const Counts counts(header);
  Index index;
  auto description = parse_description(header);
  if (!description) return std::unexpected(description.error());
  index.description = std::move(*description);
  const auto piece_records =
      bytes.subspan(counts.chunks * chunk_record_bytes, counts.pieces * piece_record_bytes);
  const auto tensor_records =
      bytes.subspan(counts.chunks * chunk_record_bytes + piece_records.size(),
                    counts.tensors * tensor_record_bytes);
  const auto text = bytes.last(counts.strings);
  std::string_view strings(reinterpret_cast<const char*>(text.data()), text.size());

  index.chunks.reserve(counts.chunks);
  index.pieces.reserve(counts.pieces);
  index.tensors.reserve(counts.tensors);
  std::uint64_t free_from = header_bytes;
  for (std::size_t i = 0; i < counts.chunks; ++i) {
    auto chunk = parse_chunk(bytes.subspan(i * chunk_record_bytes, chunk_record_bytes), i,
                             free_from, number_at<std::uint64_t>(header, 24));
    if (!chunk) return std::unexpected(chunk.error());
    const std::uint64_t most = index.description.max_chunk_bytes;
    if (chunk->kind != ChunkKind::metadata && most != 0 && chunk->bytes > most) {
      return bad(fmt::format("chunk {} has {} bytes, and none is said to have more than {}", i,
                             chunk->bytes, most));
    }
    if (auto parsed = parse_pieces(piece_records, *chunk, i, index.pieces); !parsed) {
      return std::unexpected(parsed.error());
    }
    index.chunks.push_back(*chunk);
  }
  if (index.pieces.size() != counts.pieces) {
    return bad(fmt::format("{} pieces belong to no chunk", counts.pieces - index.pieces.size()));
  }
  for (std::size_t i = 0; i < counts.tensors; ++i) {
    auto tensor =
        parse_tensor(tensor_records.subspan(i * tensor_record_bytes, tensor_record_bytes), strings,
                     i, index.chunks, index.tensors.empty() ? nullptr : &index.tensors.back());
    if (!tensor) return std::unexpected(tensor.error());
    index.tensors.push_back(std::move(*tensor));
  }
  if (!strings.empty())
    return bad(fmt::format("{} bytes of names belong to no tensor", strings.size()));
  return index;
}

}  // namespace assay::runtime::npu
