#include "probes/thermal/setting_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include "tests/base/scratch.h"

namespace assay::probes {
namespace {

constexpr const char* config =
    "# NPU of line 3\n"
    "; old style comment\n"
    "pool = 24G\n"
    "\n"
    "  temp_offset = 1800   # with the infrared thermometer\n"
    "temp_offset_2=7\n"
    "trace=on";

TEST(Setting, changesItsValueAndNothingElse) {
  EXPECT_EQ(setting_in(config, "temp_offset"), "1800");
  const std::string changed = with_setting(config, "temp_offset", "-250");
  std::string expected = config;
  expected.replace(expected.find("1800"), 4, "-250");
  EXPECT_EQ(changed, expected);
  EXPECT_EQ(setting_in(changed, "temp_offset"), "-250");
}

TEST(Setting, isAddedAtTheEndWithTheFilesLineEnd) {
  EXPECT_EQ(with_setting("", "temp_offset", "5"), "temp_offset=5\n");
  EXPECT_EQ(with_setting("a=1", "temp_offset", "5"), "a=1\ntemp_offset=5\n");
  EXPECT_EQ(with_setting("a=1\r\n", "temp_offset", "5"), "a=1\r\ntemp_offset=5\r\n");
  EXPECT_EQ(setting_in("#temp_offset=5\n", "temp_offset"), std::nullopt);
  EXPECT_EQ(with_setting("#temp_offset=5\n", "temp_offset", "6"),
            "#temp_offset=5\ntemp_offset=6\n");
}

TEST(Setting, everyLineThatSetsItIsSet) {
  EXPECT_EQ(setting_in("a=1\na = 2\n", "a"), "2");
  EXPECT_EQ(with_setting("a=1\nb=0\na = 2\n", "a", "3"), "a=3\nb=0\na = 3\n");
}

TEST(Setting, anEmptyValueIsFilledIn) {
  EXPECT_EQ(setting_in("a=\n", "a"), "");
  EXPECT_EQ(with_setting("a=\r\nb=2\r\n", "a", "1"), "a=1\r\nb=2\r\n");
  EXPECT_EQ(with_setting("a=  # none\n", "a", "1"), "a=1  # none\n");
  // A number sign within a value is part of it.
  EXPECT_EQ(setting_in("a=x#1 # c\n", "a"), "x#1");
}

TEST(Setting, aNumberSignRightBehindTheEqualsSignIsAValueAndIsReplaced) {
  EXPECT_EQ(setting_in("a=# ;b\n", "a"), "# ;b");
  EXPECT_EQ(with_setting("a=# ;b\n", "a", "1"), "a=1\n");
  EXPECT_EQ(with_setting("a=#b # c\n", "a", "1"), "a=1 # c\n");
}

TEST(Setting, whatWouldBreakTheFileIsNotWritten) {
  for (const char* bad : {"", "1\n2", "a b", "a=b", "#", "\r"}) {
    EXPECT_EQ(with_setting("a=1\n", "a", bad), "a=1\n") << bad;
    EXPECT_EQ(with_setting("a=1\n", bad, "2"), "a=1\n") << bad;
  }
}

class SettingFile : public testing::Test {
 protected:
  mode_t mode_of(const std::string& name) const {
    struct stat status {};
    return stat((folder_ / name).c_str(), &status) == 0 ? status.st_mode & 0777 : 0;
  }
  test::Scratch folder_;
};

TEST_F(SettingFile, keepsModeAndTheFileBefore) {
  folder_.write("npu.conf", config);
  ASSERT_EQ(chmod((folder_ / "npu.conf").c_str(), 0640), 0);
  const auto change = change_setting(folder_ / "npu.conf", "temp_offset", "-250", false);
  ASSERT_TRUE(change) << change.error().text();
  EXPECT_EQ(change->before, "1800");
  EXPECT_EQ(change->backup, folder_ / "npu.conf.bak");
  EXPECT_EQ(folder_.content("npu.conf"), with_setting(config, "temp_offset", "-250"));
  EXPECT_EQ(folder_.content("npu.conf.bak"), config);
  EXPECT_EQ(mode_of("npu.conf"), 0640U);
  EXPECT_EQ(mode_of("npu.conf.bak"), 0640U);
  EXPECT_EQ(folder_.names(), (std::set<std::string>{"npu.conf", "npu.conf.bak"}));
  // The copy is of the file before the last change.
  ASSERT_TRUE(change_setting(folder_ / "npu.conf", "temp_offset", "0", false));
  EXPECT_EQ(setting_in(folder_.content("npu.conf.bak"), "temp_offset"), "-250");
}

TEST_F(SettingFile, aDryRunWritesNothing) {
  folder_.write("npu.conf", config);
  const auto change = change_setting(folder_ / "npu.conf", "temp_offset", "5", true);
  ASSERT_TRUE(change);
  EXPECT_EQ(change->before, "1800");
  EXPECT_EQ(folder_.content("npu.conf"), config);
  EXPECT_EQ(folder_.names(), std::set<std::string>{"npu.conf"});
  ASSERT_TRUE(change_setting(folder_ / "new.conf", "temp_offset", "5", true));
  EXPECT_EQ(folder_.names(), std::set<std::string>{"npu.conf"});
}

TEST_F(SettingFile, isMadeWhereThereIsNone) {
  const auto change = change_setting(folder_ / "npu.conf", "temp_offset", "5", false);
  ASSERT_TRUE(change);
  EXPECT_EQ(change->before, std::nullopt);
  EXPECT_EQ(change->backup, "");
  EXPECT_EQ(folder_.content("npu.conf"), "temp_offset=5\n");
}

TEST_F(SettingFile, whatIsNoTextFileIsLeftAlone) {
  folder_.write("binary", std::string("temp_offset=1\0x", 15));
  std::filesystem::create_directories(folder_ / "folder");
  for (const char* name : {"binary", "folder"}) {
    EXPECT_FALSE(change_setting(folder_ / name, "temp_offset", "5", false)) << name;
  }
  EXPECT_EQ(folder_.content("binary").size(), 15U);
  EXPECT_EQ(folder_.names(), (std::set<std::string>{"binary", "folder"}));
}

// The file is the old one or the new one, also when the disk is full in the middle.
TEST_F(SettingFile, aFullDiskLeavesTheOldFile) {
  const std::string large = std::string(100'000, '#') + "\ntemp_offset=1\n";
  folder_.write("npu.conf", large);
  const auto change = test::with_file_size_limit(
      50'000, [&] { return change_setting(folder_ / "npu.conf", "temp_offset", "5", false); });
  EXPECT_FALSE(change);
  EXPECT_EQ(folder_.content("npu.conf"), large);
}

}  // namespace
}  // namespace assay::probes
