#include "runtime/compiled/chunk_codec.h"

#include <fmt/core.h>
#include <lz4.h>
#include <lz4hc.h>
#include <zstd.h>

#include <string>

namespace assay::runtime::npu {
namespace {

// Packed once, unfolded at every load.
constexpr int lz4_level = LZ4HC_CLEVEL_DEFAULT;
constexpr int zstd_level = 9;

const char* chars(std::span<const std::byte> bytes) {
  return reinterpret_cast<const char*>(bytes.data());
}

}  // namespace

std::string_view name_of(Codec codec) {
  switch (codec) {
    case Codec::none:
      return "none";
    case Codec::lz4:
      return "lz4";
    case Codec::zstd:
      return "zstd";
  }
  std::unreachable();
}

std::vector<std::byte> pack(Codec codec, std::span<const std::byte> piece) {
  if (codec == Codec::none || piece.empty()) return {};
  // One byte less than the piece: what does not fit is not smaller.
  std::vector<std::byte> stored(piece.size() - 1);
  std::size_t size = 0;
  if (codec == Codec::lz4) {
    size = static_cast<std::size_t>(LZ4_compress_HC(
        chars(piece), reinterpret_cast<char*>(stored.data()), static_cast<int>(piece.size()),
        static_cast<int>(stored.size()), lz4_level));
  } else {
    size = ZSTD_compress(stored.data(), stored.size(), piece.data(), piece.size(), zstd_level);
    if (ZSTD_isError(size) != 0) size = 0;
  }
  stored.resize(size);
  return stored;
}

Result<> unfold(Codec codec, std::span<const std::byte> stored, std::span<std::byte> piece) {
  if (codec == Codec::lz4) {
    const int size =
        LZ4_decompress_safe(chars(stored), reinterpret_cast<char*>(piece.data()),
                            static_cast<int>(stored.size()), static_cast<int>(piece.size()));
    if (size >= 0 && static_cast<std::size_t>(size) == piece.size()) return {};
  } else if (codec == Codec::zstd) {
    const std::size_t size =
        ZSTD_decompress(piece.data(), piece.size(), stored.data(), stored.size());
    if (ZSTD_isError(size) == 0 && size == piece.size()) return {};
  }
  return fail(ErrorKind::bad_file, fmt::format("{} bytes packed by {} do not unfold to {}",
                                               stored.size(), name_of(codec), piece.size()));
}

}  // namespace assay::runtime::npu
