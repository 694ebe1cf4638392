#include "runtime/compiled/npu_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <functional>
#include <utility>

#include "runtime/compiled/npu_writer.h"
#include "tests/base/scratch.h"
#include "tests/runtime/compiled/sound_index.h"

namespace assay::runtime::npu {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

std::vector<std::byte> zeros(std::size_t size) {
  return std::vector<std::byte>(size);
}

// Metadata, a chunk of two tensors that is packed, and an expert of two pieces.
void write_small(const std::string& path) {
  auto writer = NpuWriter::create(path, {"some-board", 8, 2U << 20});
  ASSERT_TRUE(writer);
  ASSERT_TRUE(writer->begin_chunk(ChunkKind::metadata, Codec::none));
  ASSERT_TRUE(writer->append(zeros(77)));
  ASSERT_TRUE(writer->end_chunk());
  ASSERT_TRUE(writer->begin_chunk(ChunkKind::shared, Codec::lz4));
  ASSERT_TRUE(writer->begin_tensor("token_embd.weight", "q8_0", 10, 32, 340));
  ASSERT_TRUE(writer->append(zeros(340)));
  ASSERT_TRUE(writer->begin_tensor("output_norm.weight", "f32", 1, 32, 128));
  ASSERT_TRUE(writer->append(zeros(100)));
  ASSERT_TRUE(writer->append(zeros(28)));
  ASSERT_TRUE(writer->end_chunk());
  ASSERT_TRUE(writer->begin_chunk(ChunkKind::expert, Codec::zstd, 3, 5));
  ASSERT_TRUE(writer->begin_tensor("blk.3.ffn_up.5.weight", "f16", 1024, 768, 1024 * 768 * 2));
  ASSERT_TRUE(writer->append(zeros(1024 * 768 * 2)));
  ASSERT_TRUE(writer->end_chunk());
  ASSERT_TRUE(writer->finish(Durability::visible));
}

class NpuFileTest : public testing::Test {
 protected:
  void SetUp() override {
    write_small(path());
    content_ = folder_.content("model.npu");
    ASSERT_GT(content_.size(), header_bytes);
    std::memcpy(&index_offset_, content_.data() + 24, sizeof index_offset_);
    ASSERT_LT(index_offset_, content_.size());
  }

  std::string path() const { return folder_ / "model.npu"; }
  Result<NpuFile> open(const std::string& content) const {
    folder_.write("changed.npu", content);
    return NpuFile::open(folder_ / "changed.npu");
  }
  // Header and index with the checksum that belongs to them.
  std::string sealed(std::string content) const {
    const auto bytes = std::as_bytes(std::span(content));
    const std::uint64_t checksum =
        checksum_of(bytes.first(header_bytes), bytes.subspan(index_offset_));
    std::memcpy(content.data() + 64, &checksum, sizeof checksum);
    return content;
  }
  void expect_refused(const std::string& content, const std::string& what) const {
    const auto file = open(content);
    ASSERT_FALSE(file) << what;
    EXPECT_EQ(file.error().kind, ErrorKind::bad_file);
    EXPECT_THAT(file.error().text(), HasSubstr(what));
    EXPECT_EQ(file.error().where, folder_ / "changed.npu");
  }

  const test::Scratch folder_;
  std::string content_;
  std::uint64_t index_offset_ = 0;
};

TEST_F(NpuFileTest, whatWasWrittenIsRead) {
  const auto file = NpuFile::open(path());
  ASSERT_TRUE(file);
  const Index& index = file->index();
  EXPECT_EQ(index.description.target_board, "some-board");
  EXPECT_EQ(index.description.expert_cache_entries, 8U);
  EXPECT_EQ(index.description.max_chunk_bytes, 2U << 20);
  ASSERT_EQ(index.chunks.size(), 3U);
  EXPECT_EQ(index.chunks[0].kind, ChunkKind::metadata);
  EXPECT_EQ(index.chunks[0].bytes, 77U);
  EXPECT_EQ(index.chunks[0].stored_bytes, 77U);
  EXPECT_EQ(index.chunks[0].layer, no_layer);
  EXPECT_EQ(index.chunks[1].codec, Codec::lz4);
  EXPECT_EQ(index.chunks[1].bytes, 384U + 128);  // 340, filled up to 64
  EXPECT_LT(index.chunks[1].stored_bytes, 100U);
  EXPECT_EQ(index.chunks[2].kind, ChunkKind::expert);
  EXPECT_EQ(index.chunks[2].codec, Codec::zstd);
  EXPECT_EQ(index.chunks[2].layer, 3U);
  EXPECT_EQ(index.chunks[2].expert, 5U);
  EXPECT_EQ(index.pieces_of(index.chunks[2]).size(), 2U);
  ASSERT_EQ(index.tensors.size(), 3U);
  const Tensor& norm = index.tensors[1];
  EXPECT_EQ(norm.name, "output_norm.weight");
  EXPECT_EQ(norm.type, "f32");
  EXPECT_EQ(norm.rows, 1U);
  EXPECT_EQ(norm.cols, 32U);
  EXPECT_EQ(norm.chunk, 1U);
  EXPECT_EQ(norm.offset, 384U);
  EXPECT_EQ(norm.bytes, 128U);
  EXPECT_EQ(test::broken_property(index, index_offset_), "");
}

TEST_F(NpuFileTest, chunksBeginAtPagesOfAnyMachine) {
  const auto file = NpuFile::open(path());
  ASSERT_TRUE(file);
  for (const Chunk& chunk : file->index().chunks) EXPECT_EQ(chunk.offset % 65'536, 0U);
}

TEST_F(NpuFileTest, theSameModelGivesTheSameBytes) {
  write_small(folder_ / "again.npu");
  EXPECT_EQ(folder_.content("again.npu"), content_);
}

TEST_F(NpuFileTest, aFileThatIsNoneIsToldFromOneThatIsDamaged) {
  expect_refused("", "not a .npu file: it has 0 bytes");
  expect_refused("GGUF" + content_.substr(4), "does not begin with that file's magic");
  // Line ends that a transfer as text would have changed.
  std::string as_text = content_;
  as_text.erase(4, 1);
  expect_refused(as_text, "does not begin with that file's magic");
  std::string newer = content_;
  newer[8] = 2;
  expect_refused(newer, "the file is of version 2; this program reads version 1");
}

TEST_F(NpuFileTest, aFileCutAtAnyByteOrLongerThanItSaysIsRefused) {
  const auto header = std::as_bytes(std::span(content_)).first(header_bytes);
  for (std::uint64_t size = header_bytes; size < content_.size(); ++size) {
    const auto place = find_index(header, size);
    ASSERT_FALSE(place) << size;
    ASSERT_EQ(place.error().kind, ErrorKind::bad_file);
  }
  ASSERT_TRUE(find_index(header, content_.size()));
  for (std::size_t size = 1; size < content_.size(); size += size < header_bytes ? 1 : 997) {
    expect_refused(content_.substr(0, size), size < header_bytes ? "header alone" : "cut off");
  }
  expect_refused(content_ + "x", "something was added");
}

TEST_F(NpuFileTest, aBitThatChangedInHeaderOrIndexIsSeen) {
  std::string changed = content_;
  for (std::size_t at = 0; at < changed.size(); ++at) {
    if (at == header_bytes) at = index_offset_;
    changed[at] = static_cast<char>(changed[at] ^ (1 << at % 8));
    const auto file = open(changed);
    ASSERT_FALSE(file) << "byte " << at;
    EXPECT_EQ(file.error().kind, ErrorKind::bad_file);
    EXPECT_THAT(file.error().text(), testing::Not(HasSubstr("\n")));
    changed[at] = content_[at];
  }
}

// As a file of another program could be: every field wrong, and the checksum right.
TEST_F(NpuFileTest, everyFieldOfAnyValueIsRefusedOrHarmless) {
  std::size_t refused = 0;
  std::size_t read = 0;
  const auto try_value = [&](std::size_t at, std::size_t size, std::uint64_t value) {
    std::string changed = content_;
    std::memcpy(changed.data() + at, &value, size);
    if (changed == content_) return;
    changed = sealed(std::move(changed));
    const auto bytes = std::as_bytes(std::span(changed));
    const auto place = find_index(bytes.first(header_bytes), changed.size());
    auto index = place ? parse_index(bytes.first(header_bytes), bytes.subspan(place->offset))
                       : Result<Index>(std::unexpected(place.error()));
    if (!index) {
      ++refused;
      EXPECT_EQ(index.error().kind, ErrorKind::bad_file);
      EXPECT_THAT(index.error().text(), testing::Not(HasSubstr("\n")));
    } else {
      ++read;
      EXPECT_EQ(test::broken_property(*index, place->offset), "") << "byte " << at;
    }
  };
  for (std::size_t at = 0; at + 2 <= content_.size(); at += 2) {
    if (at == header_bytes) at = index_offset_;
    for (const std::size_t size : {2U, 4U, 8U}) {
      if (at + size > content_.size()) continue;
      std::uint64_t value = 0;
      std::memcpy(&value, content_.data() + at, size);
      const std::uint64_t top = std::uint64_t{1} << (8 * size - 1);
      for (const std::uint64_t wrong :
           {std::uint64_t{0}, std::uint64_t{1}, value + 1, value - 1, value ^ top, top - 1,
            ~std::uint64_t{0}, value * 2, value + 64, value + 65'536}) {
        try_value(at, size, wrong);
      }
    }
  }
  EXPECT_GT(refused, 4000U);
  EXPECT_GT(read, 100U);  // layers, experts, rows, columns, checksums of pieces
}

TEST_F(NpuFileTest, anErrorSaysWhichRecordIsWrongAndHow) {
  const auto with = [&](std::size_t at, std::uint64_t value, std::size_t size) {
    std::string changed = content_;
    std::memcpy(changed.data() + at, &value, size);
    return sealed(changed);
  };
  const std::size_t chunks = index_offset_;
  const std::size_t tensors = chunks + 3 * chunk_record_bytes + 4 * piece_record_bytes;
  expect_refused(with(12, 4'000'000'000, 4), "its counts and the file's size contradict");
  expect_refused(with(16, ~std::uint64_t{0}, 8), "its counts and the file's size contradict");
  expect_refused(with(48, 1000, 8), "chunk 2 has 1572864 bytes, and none is said to have more");
  expect_refused(with(76, 0x0A, 1), "the target board's name is no text");
  expect_refused(with(chunks, 1, 8), "chunk 0 is said to lie at byte 1");
  expect_refused(with(chunks + chunk_record_bytes, 65'536, 8), "chunk 1 is said to lie at");
  expect_refused(with(chunks + 8, 0, 8), "chunk 0 says that 0 bytes are stored for its 77");
  expect_refused(with(chunks + 36, 9, 1), "chunk 0 is of an unknown kind, 9");
  expect_refused(with(chunks + 37, 7, 1), "chunk 0 is packed in an unknown way, 7");
  expect_refused(with(tensors + 16, 32, 8), "token_embd.weight is said to lie at byte 32");
  expect_refused(with(tensors + 32, 3, 4), "token_embd.weight is said to lie in chunk 3 of 3");
  expect_refused(with(tensors + 36, 0, 2), "tensor 0 has no name");
  expect_refused(with(tensors, 0, 8), "token_embd.weight is said to be of 0 x 32");
}

TEST_F(NpuFileTest, bytesThatAreStoredAsTheyAreCanBeMapped) {
  const auto file = NpuFile::open(path());
  ASSERT_TRUE(file);
  const auto metadata = file->mapped(file->index().chunks[0]);
  ASSERT_EQ(metadata.size(), 77U);
  EXPECT_TRUE(std::equal(metadata.begin(), metadata.end(), zeros(77).begin()));
  EXPECT_THAT(file->mapped(file->index().chunks[1]), IsEmpty());
}

TEST(NpuWriter, refusesWhatNobodyCouldRead) {
  const test::Scratch folder;
  const auto refused = [&](const std::function<Result<>(NpuWriter&)>& use) {
    auto writer = NpuWriter::create(folder / "model.npu", {"", 0, 1000});
    if (!writer) return writer.error().text();
    if (auto begun = writer->begin_chunk(ChunkKind::shared, Codec::none); !begun)
      return begun.error().text();
    const auto used = use(*writer);
    if (used) return std::string("accepted");
    EXPECT_EQ(used.error().kind, ErrorKind::usage);
    EXPECT_EQ(used.error().where, folder / "model.npu");
    return used.error().what;
  };
  EXPECT_EQ(refused([](NpuWriter& writer) { return writer.end_chunk(); }),
            "a chunk without a byte");
  EXPECT_EQ(refused([](NpuWriter& writer) {
              EXPECT_TRUE(writer.append(zeros(1000)));
              return writer.append(zeros(1));
            }),
            "a chunk of more than 1000 bytes, which is the board's largest");
  EXPECT_EQ(refused([](NpuWriter& writer) { return writer.begin_tensor("", "f32", 1, 1, 4); }),
            "a tensor's name has 1 to 65535 bytes");
  EXPECT_EQ(refused([](NpuWriter& writer) {
              return writer.begin_tensor(std::string(65'536, 'n'), "f32", 1, 1, 4);
            }),
            "a tensor's name has 1 to 65535 bytes");
  for (const std::size_t given : {3U, 5U}) {
    const std::string what = "a was announced with 4 bytes and got " + std::to_string(given);
    EXPECT_EQ(refused([given](NpuWriter& writer) {
                EXPECT_TRUE(writer.begin_tensor("a", "f32", 1, 1, 4));
                EXPECT_TRUE(writer.append(zeros(given)));
                return writer.begin_tensor("b", "f32", 1, 1, 4);
              }),
              what);
    EXPECT_EQ(refused([given](NpuWriter& writer) {
                EXPECT_TRUE(writer.begin_tensor("a", "f32", 1, 1, 4));
                EXPECT_TRUE(writer.append(zeros(given)));
                return writer.end_chunk();
              }),
              what);
  }
  EXPECT_EQ(refused([](NpuWriter& writer) {
              EXPECT_TRUE(writer.begin_tensor("a\nb", "f32", 1, 1, 4));
              EXPECT_TRUE(writer.append(zeros(4)));
              EXPECT_TRUE(writer.end_chunk());
              return writer.finish(Durability::visible);
            }),
            "tensor 0: its name is no text");
  EXPECT_THAT(folder.names(), IsEmpty());
}

TEST(NpuWriter, aBoardsNameFitsOrIsRefused) {
  const test::Scratch folder;
  const auto writer = NpuWriter::create(folder / "model.npu", {std::string(53, 'b'), 0, 0});
  ASSERT_FALSE(writer);
  EXPECT_EQ(writer.error().kind, ErrorKind::usage);
  EXPECT_EQ(writer.error().what, "the board's name is longer than 52 bytes");
  auto fits = NpuWriter::create(folder / "model.npu", {std::string(52, 'b'), 0, 0});
  ASSERT_TRUE(fits);
  ASSERT_TRUE(fits->finish(Durability::visible));
  const auto file = NpuFile::open(folder / "model.npu");
  ASSERT_TRUE(file);
  EXPECT_EQ(file->index().description.target_board, std::string(52, 'b'));
  EXPECT_THAT(file->index().chunks, IsEmpty());
}

TEST(NpuWriter, aFullDiskLeavesTheOldModel) {
  const test::Scratch folder;
  folder.write("model.npu", "old");
  {
    auto writer = NpuWriter::create(folder / "model.npu", {});
    ASSERT_TRUE(writer);
    ASSERT_TRUE(writer->begin_chunk(ChunkKind::shared, Codec::none));
    const auto written =
        test::with_file_size_limit(1U << 20, [&] { return writer->append(zeros(3U << 20)); });
    ASSERT_FALSE(written);
    EXPECT_EQ(written.error().where, folder / "model.npu");
  }
  EXPECT_EQ(folder.content("model.npu"), "old");
  EXPECT_THAT(folder.names(), ElementsAre("model.npu"));
}

}  // namespace
}  // namespace assay::runtime::npu
