#include "base/file_group.h"

#include <grp.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/base/scratch.h"

namespace assay {
namespace {

TEST(FileGroup, isOneThatGivesItsMembersAccess) {
  const test::Scratch scratch;
  EXPECT_EQ(file_group(scratch / "missing"), "");
  scratch.write("node", "");
  const std::string node = scratch / "node";
  // Root can give a file to any group, others to one of their own.
  const bool root = ::geteuid() == 0;
  const group* some = root ? ::getgrnam("dialout") : ::getgrgid(::getegid());
  ASSERT_NE(some, nullptr);
  const gid_t id = some->gr_gid;
  const std::string name = some->gr_name;
  const auto group_of = [&](gid_t owner, mode_t mode) {
    EXPECT_EQ(::chown(node.c_str(), ::geteuid(), owner), 0);
    EXPECT_EQ(::chmod(node.c_str(), mode), 0);
    return file_group(node);
  };
  EXPECT_EQ(group_of(id, 0660), name);
  EXPECT_EQ(group_of(id, 0060), name);
  for (const mode_t mode : {0U, 0600U, 0640U, 0620U, 0606U}) EXPECT_EQ(group_of(id, mode), "");
  if (!root) return;
  EXPECT_EQ(group_of(0, 0660), "");
  EXPECT_EQ(group_of(54321, 0660), "54321");
}

}  // namespace
}  // namespace assay
