#include "runtime/compiled/chunk_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <ostream>
#include <random>

#include "runtime/compiled/chunk_codec.h"
#include "runtime/compiled/npu_writer.h"
#include "tests/base/scratch.h"

namespace assay::runtime::npu {

void PrintTo(Codec codec, std::ostream* out) {
  *out << name_of(codec);
}

namespace {

using testing::HasSubstr;

std::vector<std::byte> random_bytes(std::size_t size, unsigned values, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<std::byte> bytes(size);
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(random() % values);
  return bytes;
}

class ChunkReader : public testing::TestWithParam<Codec> {
 protected:
  // Three pieces: one that packing makes smaller, one that it does not, and a short one.
  ChunkReader() : weights_(random_bytes(5U << 19, 4, 1)) {
    const auto noise = random_bytes(piece_bytes, 256, 2);
    std::copy(noise.begin(), noise.end(), weights_.begin() + piece_bytes);
  }
  void SetUp() override {
    auto writer = NpuWriter::create(path(), {});
    ASSERT_TRUE(writer);
    ASSERT_TRUE(writer->begin_chunk(ChunkKind::metadata, Codec::none));
    ASSERT_TRUE(writer->append(std::vector<std::byte>(100)));
    ASSERT_TRUE(writer->end_chunk());
    ASSERT_TRUE(writer->begin_chunk(ChunkKind::expert, GetParam(), 0, 1));
    // In portions that fit no piece.
    for (std::size_t at = 0; at < weights_.size(); at += 300'007) {
      const std::size_t now = std::min<std::size_t>(300'007, weights_.size() - at);
      ASSERT_TRUE(writer->append(std::span(weights_).subspan(at, now)));
    }
    ASSERT_TRUE(writer->end_chunk());
    ASSERT_TRUE(writer->finish(Durability::visible));
  }

  std::string path() const { return folder_ / "model.npu"; }
  static Result<ReadTimes> read(const NpuFile& file, std::span<std::byte> memory,
                                unsigned threads = 1) {
    WorkerPool pool(threads);
    return read_chunk(file, file.index().chunks[1], memory, pool, CancelToken{});
  }
  void change(std::uint64_t at) const {
    std::string content = folder_.content("model.npu");
    content[at] = static_cast<char>(content[at] ^ 0x10);
    folder_.write("model.npu", content);
  }

  const test::Scratch folder_;
  std::vector<std::byte> weights_;
};

TEST_P(ChunkReader, bringsEveryByteBackWhateverTheThreads) {
  const auto file = NpuFile::open(path());
  ASSERT_TRUE(file);
  const Chunk& chunk = file->index().chunks[1];
  for (const unsigned threads : {1U, 2U, 5U}) {
    std::vector<std::byte> memory(weights_.size(), std::byte{0xEE});
    const auto times = read(*file, memory, threads);
    ASSERT_TRUE(times);
    EXPECT_TRUE(memory == weights_) << threads;
    EXPECT_EQ(times->bytes, weights_.size());
    EXPECT_EQ(times->stored_bytes, chunk.stored_bytes);
    EXPECT_GT(times->read_ns, 0);
    EXPECT_GT(times->check_ns, 0);
    EXPECT_GT(times->wall_ns, 0);
    EXPECT_EQ(times->unfold_ns > 0, GetParam() != Codec::none);
  }
}

TEST_P(ChunkReader, onlyWhatPackingMakesSmallerIsPacked) {
  const auto file = NpuFile::open(path());
  ASSERT_TRUE(file);
  const auto pieces = file->index().pieces_of(file->index().chunks[1]);
  ASSERT_EQ(pieces.size(), 3U);
  EXPECT_EQ(pieces[1].stored_bytes, piece_bytes);
  if (GetParam() == Codec::none) {
    EXPECT_EQ(pieces[0].stored_bytes, piece_bytes);
    EXPECT_EQ(pieces[2].stored_bytes, piece_bytes / 2);
  } else {
    // Two of eight bits are random.
    EXPECT_GT(pieces[0].stored_bytes, piece_bytes / 4);
    EXPECT_LT(pieces[0].stored_bytes, piece_bytes * 2 / 3);
    EXPECT_LT(pieces[2].stored_bytes, piece_bytes / 3);
  }
  EXPECT_EQ(file->mapped(file->index().chunks[1]).empty(), GetParam() != Codec::none);
}

TEST_P(ChunkReader, aBitThatChangedInAPieceIsNamedByItsPlace) {
  std::vector<std::uint64_t> offsets;
  std::vector<std::uint32_t> sizes;
  {
    const auto file = NpuFile::open(path());
    ASSERT_TRUE(file);
    std::uint64_t offset = file->index().chunks[1].offset;
    for (const Piece& piece : file->index().pieces_of(file->index().chunks[1])) {
      offsets.push_back(offset);
      sizes.push_back(piece.stored_bytes);
      offset += piece.stored_bytes;
    }
  }
  for (std::size_t i = 0; i < offsets.size(); ++i) {
    for (const std::uint64_t at :
         {std::uint64_t{0}, std::uint64_t{sizes[i] / 2}, std::uint64_t{sizes[i] - 1}}) {
      change(offsets[i] + at);
      const auto file = NpuFile::open(path());
      ASSERT_TRUE(file);
      std::vector<std::byte> memory(weights_.size());
      const auto times = read(*file, memory, 2);
      ASSERT_FALSE(times);
      EXPECT_EQ(times.error().kind, ErrorKind::bad_file);
      EXPECT_EQ(times.error().where, path());
      EXPECT_THAT(times.error().what,
                  HasSubstr("chunk 1 is damaged at byte " + std::to_string(offsets[i]) + ": "));
      change(offsets[i] + at);
    }
  }
}

TEST_P(ChunkReader, aFileThatBecomesShorterIsAnError) {
  const auto file = NpuFile::open(path());
  ASSERT_TRUE(file);
  std::filesystem::resize_file(path(), file->index().chunks[1].offset + 10);
  std::vector<std::byte> memory(weights_.size());
  const auto times = read(*file, memory);
  ASSERT_FALSE(times);
  EXPECT_EQ(times.error().kind, ErrorKind::vanished);
  EXPECT_EQ(times.error().where, path());
}

TEST_P(ChunkReader, stopsWhenItIsCancelled) {
  const auto file = NpuFile::open(path());
  ASSERT_TRUE(file);
  WorkerPool pool(2);
  CancelToken cancel;
  cancel.cancel();
  std::vector<std::byte> memory(weights_.size(), std::byte{0xEE});
  const auto times = read_chunk(*file, file->index().chunks[1], memory, pool, cancel);
  ASSERT_FALSE(times);
  EXPECT_EQ(times.error().kind, ErrorKind::cancelled);
  EXPECT_EQ(memory[0], std::byte{0xEE});
}

INSTANTIATE_TEST_SUITE_P(Codecs, ChunkReader, testing::Values(Codec::none, Codec::lz4, Codec::zstd),
                         [](const auto& given) { return std::string(name_of(given.param)); });

TEST(ChunkCodec, packedBytesUnfoldToTheirOwnSizeAndNoOther) {
  for (const Codec codec : {Codec::lz4, Codec::zstd}) {
    for (const std::size_t size : {20U, 1000U, 65'537U, piece_bytes}) {
      const auto piece = random_bytes(size, 2, 7);
      const auto stored = pack(codec, piece);
      if (stored.empty()) continue;
      EXPECT_LT(stored.size(), size);
      std::vector<std::byte> unfolded(size);
      ASSERT_TRUE(unfold(codec, stored, unfolded));
      EXPECT_TRUE(unfolded == piece);
      for (const std::size_t other : {size - 1, size + 1}) {
        std::vector<std::byte> wrong(other);
        const auto done = unfold(codec, stored, wrong);
        ASSERT_FALSE(done);
        EXPECT_EQ(done.error().kind, ErrorKind::bad_file);
      }
      // Cut off.
      EXPECT_FALSE(unfold(codec, std::span(stored).first(stored.size() - 1), unfolded));
      EXPECT_FALSE(unfold(codec, {}, unfolded));
    }
  }
}

TEST(ChunkCodec, neitherNoiseNorASingleByteIsPacked) {
  for (const Codec codec : {Codec::lz4, Codec::zstd}) {
    EXPECT_TRUE(pack(codec, random_bytes(10'000, 256, 3)).empty());
    EXPECT_TRUE(pack(codec, random_bytes(1, 256, 3)).empty());
    EXPECT_TRUE(pack(codec, {}).empty());
  }
  EXPECT_TRUE(pack(Codec::none, std::vector<std::byte>(10'000)).empty());
}

}  // namespace
}  // namespace assay::runtime::npu
