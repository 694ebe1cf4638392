#include "base/mapped_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstring>
#include <string>
#include <utility>

#include "tests/base/scratch.h"

namespace assay {
namespace {

std::string text_of(const MappedFile& file) {
  return {reinterpret_cast<const char*>(file.bytes().data()), file.bytes().size()};
}

TEST(MappedFile, hasTheFilesBytesAlsoOnceMovedAndReplaced) {
  test::Scratch scratch;
  const std::string path = scratch / "file";
  scratch.write("file", "the first content");
  auto opened = MappedFile::open(path);
  ASSERT_TRUE(opened) << opened.error().text();
  const MappedFile file = std::move(*opened);
  scratch.write("other", "another");
  std::filesystem::rename(scratch / "other", path);
  EXPECT_EQ(text_of(file), "the first content");
  EXPECT_EQ(file.path(), path);
  EXPECT_GE(file.fd(), 0);
}

TEST(MappedFile, ofAnEmptyFileHasNoBytes) {
  test::Scratch scratch;
  scratch.write("empty", "");
  const auto file = MappedFile::open(scratch / "empty");
  ASSERT_TRUE(file) << file.error().text();
  EXPECT_TRUE(file->bytes().empty());
}

TEST(MappedFile, isOfARegularFileAndNothingElse) {
  test::Scratch scratch;
  EXPECT_EQ(MappedFile::open(scratch / "none").error().kind, ErrorKind::bad_file);
  EXPECT_EQ(MappedFile::open(scratch.root()).error().kind, ErrorKind::bad_file);
  const std::string pipe = scratch / "pipe";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_EQ(MappedFile::open(pipe).error().kind, ErrorKind::bad_file);
}

}  // namespace
}  // namespace assay
