#include "runtime/compiled/npu_writer.h"

#include <fmt/core.h>
#include <xxhash.h>

#include <algorithm>
#include <limits>
#include <type_traits>
#include <utility>

#include "runtime/compiled/chunk_codec.h"

namespace assay::runtime::npu {
namespace {

constexpr std::size_t most_name_bytes = std::numeric_limits<std::uint16_t>::max();

// Numbers one after the other.
class Numbers {
 public:
  explicit Numbers(std::vector<std::byte>& bytes) : bytes_(bytes) {}
  template <class T>
  Numbers& operator<<(T value) {
    static_assert(std::is_unsigned_v<T>);
    for (std::size_t i = 0; i < sizeof(T); ++i) {
      bytes_.push_back(static_cast<std::byte>(value >> 8 * i & 0xFF));
    }
    return *this;
  }

 private:
  std::vector<std::byte>& bytes_;
};

void add_text(std::vector<std::byte>& bytes, const std::string& text) {
  const auto more = std::as_bytes(std::span(text));
  bytes.insert(bytes.end(), more.begin(), more.end());
}

template <class T>
T to(std::size_t value) {
  return static_cast<T>(value);
}

}  // namespace

NpuWriter::NpuWriter(AtomicOutput output, std::string path, Description description)
    : output_(std::move(output)), path_(std::move(path)) {
  index_.description = std::move(description);
  piece_.reserve(piece_bytes);
}

Result<NpuWriter> NpuWriter::create(const std::string& path, Description description) {
  if (description.target_board.size() > target_bytes) {
    return fail(ErrorKind::usage,
                fmt::format("the board's name is longer than {} bytes", target_bytes),
                description.target_board);
  }
  auto output = AtomicOutput::create(path);
  if (!output) return std::unexpected(output.error());
  NpuWriter writer(std::move(*output), path, std::move(description));
  // Overwritten by finish().
  if (auto room = writer.fill_up(header_bytes); !room) return std::unexpected(room.error());
  return writer;
}

Result<> NpuWriter::fill_up(std::uint64_t bytes) {
  static constexpr std::array<std::byte, 4096> zeros{};
  while (bytes > 0) {
    const auto now = std::min<std::uint64_t>(bytes, zeros.size());
    if (auto written = output_.write(std::span(zeros).first(now)); !written) return written;
    bytes -= now;
  }
  return {};
}

Result<> NpuWriter::begin_chunk(ChunkKind kind, Codec codec, std::uint32_t layer,
                                std::uint32_t expert) {
  if (index_.chunks.size() == std::numeric_limits<std::uint32_t>::max()) {
    return fail(ErrorKind::usage, "more chunks than a .npu file can have", path_);
  }
  const std::uint64_t gap = (chunk_alignment - output_.size() % chunk_alignment) % chunk_alignment;
  if (auto filled = fill_up(gap); !filled) return filled;
  chunk_ = {.kind = kind, .codec = codec, .layer = layer, .expert = expert};
  chunk_.offset = output_.size();
  chunk_.first_piece = to<std::uint32_t>(index_.pieces.size());
  return {};
}

Result<> NpuWriter::write_piece() {
  if (index_.pieces.size() == std::numeric_limits<std::uint32_t>::max()) {
    return fail(ErrorKind::usage, "more pieces than a .npu file can have", path_);
  }
  const std::vector<std::byte> packed = pack(chunk_.codec, piece_);
  const std::vector<std::byte>& stored = packed.empty() ? piece_ : packed;
  if (auto written = output_.write(stored); !written) return written;
  index_.pieces.push_back(
      {XXH3_64bits(piece_.data(), piece_.size()), to<std::uint32_t>(stored.size())});
  chunk_.stored_bytes += stored.size();
  piece_.clear();
  return {};
}

Result<> NpuWriter::append(std::span<const std::byte> bytes) {
  const std::uint64_t most = index_.description.max_chunk_bytes;
  if (chunk_.kind != ChunkKind::metadata && most != 0 && bytes.size() > most - chunk_.bytes) {
    return fail(ErrorKind::usage,
                fmt::format("a chunk of more than {} bytes, which is the board's largest", most),
                path_);
  }
  chunk_.bytes += bytes.size();
  while (!bytes.empty()) {
    const std::size_t now = std::min<std::size_t>(bytes.size(), piece_bytes - piece_.size());
    piece_.insert(piece_.end(), bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(now));
    bytes = bytes.subspan(now);
    if (piece_.size() == piece_bytes) {
      if (auto written = write_piece(); !written) return written;
    }
  }
  return {};
}

Result<> NpuWriter::check_last_tensor() const {
  if (index_.tensors.empty()) return {};
  const Tensor& tensor = index_.tensors.back();
  if (tensor.chunk != index_.chunks.size() || tensor.bytes == chunk_.bytes - tensor.offset) {
    return {};
  }
  return fail(ErrorKind::usage,
              fmt::format("{} was announced with {} bytes and got {}", tensor.name, tensor.bytes,
                          chunk_.bytes - tensor.offset),
              path_);
}

Result<> NpuWriter::begin_tensor(std::string name, std::string type, std::uint64_t rows,
                                 std::uint64_t cols, std::uint64_t bytes) {
  if (name.empty() || name.size() > most_name_bytes || type.empty() ||
      type.size() > most_name_bytes) {
    return fail(ErrorKind::usage, "a tensor's name has 1 to 65535 bytes", path_);
  }
  if (auto whole = check_last_tensor(); !whole) return whole;
  static constexpr std::array<std::byte, tensor_alignment> zeros{};
  const std::uint64_t gap = (tensor_alignment - chunk_.bytes % tensor_alignment) % tensor_alignment;
  if (auto filled = append(std::span(zeros).first(gap)); !filled) return filled;
  index_.tensors.push_back({std::move(name), std::move(type), rows, cols,
                            to<std::uint32_t>(index_.chunks.size()), chunk_.bytes, bytes});
  return {};
}

Result<> NpuWriter::end_chunk() {
  if (chunk_.bytes == 0) return fail(ErrorKind::usage, "a chunk without a byte", path_);
  if (auto whole = check_last_tensor(); !whole) return whole;
  if (!piece_.empty()) {
    if (auto written = write_piece(); !written) return written;
  }
  index_.chunks.push_back(chunk_);
  return {};
}

std::vector<std::byte> NpuWriter::index_bytes() const {
  std::vector<std::byte> bytes;
  Numbers numbers(bytes);
  for (const Chunk& chunk : index_.chunks) {
    numbers << chunk.offset << chunk.stored_bytes << chunk.bytes << chunk.layer << chunk.expert
            << chunk.first_piece << static_cast<std::uint8_t>(chunk.kind)
            << static_cast<std::uint8_t>(chunk.codec) << std::uint16_t{0};
  }
  for (const Piece& piece : index_.pieces) numbers << piece.checksum << piece.stored_bytes;
  for (const Tensor& tensor : index_.tensors) {
    numbers << tensor.rows << tensor.cols << tensor.offset << tensor.bytes << tensor.chunk
            << to<std::uint16_t>(tensor.name.size()) << to<std::uint16_t>(tensor.type.size());
  }
  for (const Tensor& tensor : index_.tensors) {
    add_text(bytes, tensor.name);
    add_text(bytes, tensor.type);
  }
  return bytes;
}

std::vector<std::byte> NpuWriter::header(std::uint64_t index_offset,
                                         std::span<const std::byte> index) const {
  std::size_t strings = 0;
  for (const Tensor& tensor : index_.tensors) strings += tensor.name.size() + tensor.type.size();
  std::vector<std::byte> bytes;
  const auto write = [&](std::uint64_t checksum) {
    bytes.clear();
    Numbers numbers(bytes);
    for (const std::uint8_t byte : magic) numbers << byte;
    numbers << version << to<std::uint32_t>(index_.chunks.size())
            << std::uint64_t{index_.tensors.size()} << index_offset << std::uint64_t{index.size()}
            << index_offset + index.size() << index_.description.max_chunk_bytes
            << index_.description.expert_cache_entries << to<std::uint32_t>(index_.pieces.size())
            << checksum << to<std::uint32_t>(strings);
    add_text(bytes, index_.description.target_board);
    bytes.resize(header_bytes);
  };
  write(0);
  write(checksum_of(bytes, index));
  return bytes;
}

Result<> NpuWriter::finish(Durability durability) {
  const std::uint64_t offset = output_.size();
  const std::vector<std::byte> index = index_bytes();
  const std::vector<std::byte> head = header(offset, index);
  // What the caller said may be wrong; a file that none can open is not left behind.
  if (auto readable = parse_index(head, index); !readable) {
    return fail(ErrorKind::usage, readable.error().what, path_);
  }
  if (auto written = output_.write(index); !written) return written;
  if (auto written = output_.write_at(0, head); !written) return written;
  return output_.commit(durability);
}

}  // namespace assay::runtime::npu
