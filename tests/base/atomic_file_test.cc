#include "base/atomic_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <atomic>
#include <filesystem>
#include <set>
#include <thread>

#include "tests/base/scratch.h"

namespace assay {
namespace {

namespace fs = std::filesystem;
using test::Scratch;
using testing::ElementsAre;

class AtomicFile : public testing::TestWithParam<Durability> {
 protected:
  Scratch scratch_;
};

TEST_P(AtomicFile, makesReplacesAndEmptiesAFile) {
  const std::string path = scratch_ / "state";
  // Larger than any pipe or page buffer.
  for (const std::string& content :
       {std::string("first"), std::string(3'000'000, 'x'), std::string("a\0b", 3), std::string()}) {
    ASSERT_TRUE(write_file_atomically(path, content, GetParam()));
    EXPECT_EQ(scratch_.content("state"), content);
    EXPECT_THAT(scratch_.names(), ElementsAre("state"));
  }
}

TEST_P(AtomicFile, keepsAFolderOfThatName) {
  scratch_.write("target/inside", "kept");
  const auto written = write_file_atomically(scratch_ / "target", "new", GetParam());
  ASSERT_FALSE(written);
  EXPECT_THAT(written.error().where, testing::HasSubstr("target"));
  EXPECT_THAT(scratch_.names(), ElementsAre("target"));
  EXPECT_EQ(scratch_.content("target/inside"), "kept");
}

TEST_P(AtomicFile, leavesEveryOtherFileOfTheFolderAlone) {
  // Names that a file in the making might have.
  const std::set<std::string> others = {"state.new", "state.tmp", "state~", ".state"};
  for (const std::string& name : others) scratch_.write(name, name);
  ASSERT_TRUE(write_file_atomically(scratch_ / "state", "new", GetParam()));
  for (const std::string& name : others) EXPECT_EQ(scratch_.content(name), name);
  EXPECT_EQ(scratch_.names().size(), others.size() + 1);
}

TEST_P(AtomicFile, hasTheModeOfTheFileBeforeOrWhatTheUmaskLeavesOf0644) {
  const std::string path = scratch_ / "state";
  const auto mode = [&] {
    struct stat status {};
    EXPECT_EQ(::stat(path.c_str(), &status), 0);
    return status.st_mode & 07777;
  };
  const mode_t umask_before = ::umask(027);
  EXPECT_TRUE(write_file_atomically(path, "first", GetParam()));
  ::umask(umask_before);
  EXPECT_EQ(mode(), 0640u);
  ASSERT_EQ(::chmod(path.c_str(), 0600), 0);
  ASSERT_TRUE(write_file_atomically(path, "second", GetParam()));
  EXPECT_EQ(mode(), 0600u);
}

TEST_P(AtomicFile, aFileNeedsAName) {
  const auto written = write_file_atomically("", "x", GetParam());
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().kind, ErrorKind::usage);
}

TEST_P(AtomicFile, keepsTheOldContentAndNoTraceWhenTheDiskIsFull) {
  // A limit on the file's size stands for the full disk: write(2) stops in the middle.
  scratch_.write("state", "old");
  const auto written = test::with_file_size_limit(4096, [&] {
    return write_file_atomically(scratch_ / "state", std::string(10'000, 'n'), GetParam());
  });
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().kind, ErrorKind::io);
  EXPECT_EQ(scratch_.content("state"), "old");
  EXPECT_THAT(scratch_.names(), ElementsAre("state"));
}

TEST_P(AtomicFile, saysWhichFileCannotBeMade) {
  const auto written = write_file_atomically(scratch_ / "no/such/file", "x", GetParam());
  ASSERT_FALSE(written);
  EXPECT_THAT(written.error().where, testing::HasSubstr("no/such/file"));
  EXPECT_TRUE(scratch_.names().empty());
}

TEST_P(AtomicFile, putsNoFileInThePlaceOfADevicePipeOrSocket) {
  const std::string pipe = scratch_ / "pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  const std::string device = scratch_ / "null";
  scratch_.link("null", "/dev/null");
  for (const std::string& path : {pipe, device}) {
    const auto written = write_file_atomically(path, "x", GetParam());
    ASSERT_FALSE(written);
    EXPECT_EQ(written.error().where, path);
  }
  EXPECT_TRUE(fs::is_fifo(pipe));
  EXPECT_TRUE(fs::is_character_file("/dev/null"));
}

TEST_P(AtomicFile, aLinkStaysALink) {
  scratch_.write("real/file", "old");
  scratch_.link("name", "real/file");
  ASSERT_TRUE(write_file_atomically(scratch_ / "name", "new", GetParam()));
  EXPECT_TRUE(fs::is_symlink(scratch_ / "name"));
  EXPECT_EQ(scratch_.content("real/file"), "new");
  EXPECT_THAT(scratch_.names(), ElementsAre("name", "real"));
}

TEST_P(AtomicFile, readersSeeOldOrNewAndNothingBetween) {
  const std::string path = scratch_ / "state";
  const std::string a(200'000, 'a');
  const std::string b(100'000, 'b');
  ASSERT_TRUE(write_file_atomically(path, a, GetParam()));
  std::atomic<bool> stop{false};
  std::atomic<int> reads{0};
  std::atomic<int> torn{0};
  std::jthread reader([&] {
    while (!stop) {
      const std::string seen = scratch_.content("state");
      if (seen != a && seen != b) ++torn;
      ++reads;
    }
  });
  for (int i = 0; i < 100 || reads < 50; ++i) {
    ASSERT_TRUE(write_file_atomically(path, i % 2 == 0 ? b : a, Durability::visible));
  }
  stop = true;
  reader.join();
  EXPECT_EQ(torn, 0);
}

INSTANTIATE_TEST_SUITE_P(AtomicFile, AtomicFile,
                         testing::Values(Durability::visible, Durability::synced));

TEST(MakeFolders, makesParentsAndAcceptsWhatIsThere) {
  Scratch scratch;
  ASSERT_TRUE(make_folders(scratch / "a/b/c"));
  ASSERT_TRUE(make_folders(scratch / "a/b/c"));
  EXPECT_TRUE(fs::is_directory(scratch / "a/b/c"));
  scratch.write("file", "");
  EXPECT_FALSE(make_folders(scratch / "file/below"));
}

}  // namespace
}  // namespace assay
