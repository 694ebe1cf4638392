// Every probe as somebody who is not root: what needs rights is said to be missing; nothing breaks.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "tests/support/program.h"

namespace assay::test {
namespace {

namespace fs = std::filesystem;
using ::testing::AnyOf;
using ::testing::HasSubstr;

class WithoutRoot : public ::testing::Test {
 protected:
  // The program and its data where anybody may read them.
  WithoutRoot() {
    fs::permissions(folder_.path(), fs::perms(0755));
    fs::create_directories(folder_ / "bin");
    const fs::path program = assay_argv({})[0];
    for (const char* name : {"assay", "assay-npu-firmware"}) {
      fs::copy_file(program.parent_path() / name, folder_ / "bin" / name);
    }
    fs::create_directories(folder_ / "share/assay");
    fs::copy(ASSAY_SOURCE "/boards", folder_ / "share/assay/boards", fs::copy_options::recursive);
  }
  Finished assay_of_nobody(const std::vector<std::string>& arguments) {
    std::vector<std::string> command;
    if (geteuid() == 0) {
      command = {"/usr/bin/setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"};
    }
    command.push_back(folder_ / "bin/assay");
    command.insert(command.end(), arguments.begin(), arguments.end());
    return Program(command).wait();
  }
  TemporaryFolder folder_;
};

TEST_F(WithoutRoot, everyProbeEndsWithAVerdict) {
  const std::vector<std::vector<std::string>> commands = {
      {"mem", "--size", "16M", "--tests", "random"},
      {"mem", "--size", "16M", "--tests", "random", "--offline-bad-pages", "--fresh-frames"},
      {"rowhammer", "--size", "16M", "--pairs", "1"},
      {"pcie"},
      {"thermal"},
      {"frag"},
      {"workload", "--layers", "1", "--tokens", "1"},
      {"fw", "list"},
      {"fw", "query"},
      {"fw", "query", "--virtual"},
      {"usb", "list"}};
  for (const auto& command : commands) {
    const Finished run = assay_of_nobody(command);
    EXPECT_THAT(run.exit_code, AnyOf(0, 1, 2, 3)) << command[0] << run.out << run.err;
  }
}

TEST_F(WithoutRoot, rowsThatCannotBeFoundAreSaidAndNotHammered) {
  const Finished run = assay_of_nobody({"rowhammer", "--size", "16M", "--pairs", "1"});
  EXPECT_EQ(run.exit_code, 3) << run.out << run.err;
  EXPECT_THAT(run.out, HasSubstr("SKIP"));
  EXPECT_THAT(run.out, HasSubstr("/proc/self/pagemap"));
}

}  // namespace
}  // namespace assay::test
