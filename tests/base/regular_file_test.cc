#include "base/regular_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include "tests/base/scratch.h"

namespace assay {
namespace {

TEST(RegularFile, isReadWholeUpToTheBound) {
  const test::Scratch scratch;
  for (const std::size_t size : {0U, 1U, 100'000U}) {
    scratch.write("file", std::string(size, 'x'));
    const auto content = read_regular_file(scratch / "file", 100'000);
    ASSERT_TRUE(content) << content.error().text();
    EXPECT_EQ(content->size(), size);
  }
  scratch.write("file", std::string(100'001, 'x'));
  EXPECT_EQ(read_regular_file(scratch / "file", 100'000).error().kind, ErrorKind::bad_file);
}

TEST(RegularFile, nothingElseIsWaitedFor) {
  const test::Scratch scratch;
  // Opening a FIFO without a writer blocks, and so does reading one.
  ASSERT_EQ(mkfifo((scratch / "fifo").c_str(), 0600), 0);
  scratch.link("loop", "loop");
  for (const std::string& path :
       {scratch / "fifo", scratch.root(), std::string("/dev/zero"), scratch / "missing",
        scratch / "fifo/below", scratch / "loop", scratch / "loop/below"}) {
    const auto content = read_regular_file(path, 100);
    ASSERT_FALSE(content) << path;
    EXPECT_EQ(content.error().kind, ErrorKind::bad_file) << path;
    EXPECT_EQ(content.error().where, path);
  }
}

}  // namespace
}  // namespace assay
