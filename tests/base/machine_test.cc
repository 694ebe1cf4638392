#include "base/machine.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "tests/base/scratch.h"

namespace assay {
namespace {

using test::Scratch;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class MachineRoot : public testing::Test {
 protected:
  // scratch_/outside is next to the root, where nothing may lead.
  MachineRoot() {
    scratch_.write("outside/secret", "secret");
    scratch_.write("root/secret", "inside");
    scratch_.write("root/proc/meminfo", "MemTotal: 1 kB\n");
  }
  Scratch scratch_;
  Machine machine_{scratch_ / "root"};
};

TEST_F(MachineRoot, dotsNeverLeadOut) {
  EXPECT_FALSE(machine_.read("/../outside/secret"));
  EXPECT_FALSE(machine_.read("../outside/secret"));
  EXPECT_FALSE(machine_.read("/proc/../../outside/secret"));
  EXPECT_FALSE(machine_.list("/../outside"));
  EXPECT_FALSE(machine_.exists("/../outside/secret"));
  // ".." of the root is the root, as it is at "/".
  EXPECT_EQ(machine_.read("/../../../secret"), "inside");
}

TEST_F(MachineRoot, linksStayBelowTheRoot) {
  scratch_.link("root/absolute", "/secret");
  scratch_.link("root/relative", "../outside/secret");
  scratch_.link("root/far", "../../../../../../secret");
  scratch_.link("root/host", scratch_ / "outside/secret");
  scratch_.link("root/folder", "../outside");
  EXPECT_EQ(machine_.read("/absolute"), "inside");
  EXPECT_EQ(machine_.read("/far"), "inside");
  EXPECT_FALSE(machine_.read("/relative"));
  EXPECT_FALSE(machine_.read("/host"));
  EXPECT_FALSE(machine_.exists("/host"));
  EXPECT_FALSE(machine_.read("/folder/secret"));
  EXPECT_FALSE(machine_.list("/folder"));
}

TEST_F(MachineRoot, followsTheLinksOfSysfs) {
  scratch_.write("root/sys/devices/pci0000:00/0000:00:01.0/config", "bytes");
  scratch_.link("root/sys/bus/pci/devices/0000:00:01.0",
                "../../../devices/pci0000:00/0000:00:01.0");
  EXPECT_EQ(machine_.read("/sys/bus/pci/devices/0000:00:01.0/config"), "bytes");
}

TEST_F(MachineRoot, aLinkToItselfIsAnError) {
  scratch_.link("root/loop", "loop");
  EXPECT_FALSE(machine_.read("/loop"));
}

TEST_F(MachineRoot, cannotBeWrittenOutOfEither) {
  scratch_.link("root/door", "../outside/new");
  (void)machine_.open("/door", O_WRONLY | O_CREAT);
  EXPECT_FALSE(std::filesystem::exists(scratch_ / "outside/new"));
}

TEST_F(MachineRoot, whatIsNotThereIsUnavailable) {
  const auto content = machine_.read("/proc/none");
  ASSERT_FALSE(content);
  EXPECT_EQ(content.error().kind, ErrorKind::unavailable);
  EXPECT_EQ(content.error().where, "/proc/none");
  EXPECT_FALSE(machine_.list("/none"));
  EXPECT_FALSE(machine_.exists("/none"));
  EXPECT_TRUE(machine_.exists("/proc/meminfo"));
  EXPECT_TRUE(machine_.exists("/proc"));
  const auto below_a_file = machine_.read("/secret/x");
  ASSERT_FALSE(below_a_file);
  EXPECT_EQ(below_a_file.error().kind, ErrorKind::unavailable);
}

TEST_F(MachineRoot, aRootThatIsNotThereHasNothing) {
  const Machine gone(scratch_ / "gone");
  EXPECT_FALSE(gone.read("/proc/meminfo"));
  EXPECT_FALSE(gone.exists("/"));
}

TEST_F(MachineRoot, aFolderReadAsAFileIsAnError) {
  const auto content = machine_.read("/proc");
  ASSERT_FALSE(content);
  EXPECT_EQ(content.error().where, "/proc");
}

TEST_F(MachineRoot, refusesFilesThatAreTooLarge) {
  scratch_.write("root/big", std::string(100'000, 'x'));
  EXPECT_EQ(machine_.read("/big", 100'000)->size(), 100'000U);
  const auto content = machine_.read("/big", 99'999);
  ASSERT_FALSE(content);
  EXPECT_THAT(content.error().what, HasSubstr("99999"));
}

TEST_F(MachineRoot, anEndlessFileIsTooLargeAndNotEndless) {
  EXPECT_FALSE(Machine("/").read("/dev/zero"));
}

TEST_F(MachineRoot, aPipeDoesNotHoldTheReader) {
  ASSERT_EQ(mkfifo((scratch_ / "root/pipe").c_str(), 0600), 0);
  const auto nobody_writes = machine_.read("/pipe");
  EXPECT_TRUE(!nobody_writes || nobody_writes->empty());
  // With a writer that says nothing.
  const UniqueFd both_ends(::open((scratch_ / "root/pipe").c_str(), O_RDWR | O_CLOEXEC));
  ASSERT_TRUE(both_ends);
  EXPECT_FALSE(machine_.read("/pipe"));
  EXPECT_FALSE(machine_.list("/pipe"));
  EXPECT_TRUE(machine_.exists("/pipe"));
}

TEST_F(MachineRoot, readsNumbersAndRefusesOthers) {
  const auto number = [&](const std::string& content) {
    scratch_.write("root/n", content);
    return machine_.read_integer("/n");
  };
  EXPECT_EQ(number("45200\n"), 45'200);
  EXPECT_EQ(number("-273000\n"), -273'000);
  EXPECT_EQ(number("0"), 0);
  EXPECT_EQ(number("9223372036854775807\n"), INT64_MAX);
  EXPECT_EQ(number("7 \t\r\n"), 7);
  EXPECT_EQ(number(std::string("7\0", 2)), 7);  // device tree strings end so
  for (const char* content :
       {"", "\n", "max\n", "12 34\n", "0x10\n", "1.5\n", "9223372036854775808\n", "12C\n", "--1"}) {
    const auto refused = number(content);
    ASSERT_FALSE(refused) << content;
    EXPECT_EQ(refused.error().kind, ErrorKind::protocol);
    EXPECT_EQ(refused.error().where, "/n");
  }
}

TEST_F(MachineRoot, readsALineWithoutItsEnd) {
  scratch_.write("root/line", "  x86 acpitz \r\n\n");
  EXPECT_EQ(machine_.read_line("/line"), "  x86 acpitz");
  scratch_.write("root/line", " \n\n");
  EXPECT_EQ(machine_.read_line("/line"), "");
}

TEST_F(MachineRoot, listsNamesSorted) {
  for (const char* name : {"zone2", "zone10", "zone1", ".hidden"}) {
    scratch_.write(std::string("root/zones/") + name, "");
  }
  std::filesystem::create_directories(scratch_ / "root/empty");
  EXPECT_THAT(*machine_.list("/zones"), ElementsAre(".hidden", "zone1", "zone10", "zone2"));
  EXPECT_THAT(*machine_.list("/empty"), IsEmpty());
}

TEST_F(MachineRoot, namesPlacesForOtherPrograms) {
  EXPECT_EQ(machine_.host_path("/dev/ttyUSB0"), scratch_ / "root/dev/ttyUSB0");
  EXPECT_EQ(Machine("/").host_path("/dev/ttyUSB0"), "/dev/ttyUSB0");
  EXPECT_EQ(Machine(scratch_ / "root//").root(), scratch_ / "root");
  EXPECT_EQ(Machine("").root(), "/");
  EXPECT_TRUE(Machine("//").is_real());
  EXPECT_FALSE(machine_.is_real());
}

TEST_F(MachineRoot, readsTheMachineItself) {
  EXPECT_THAT(*Machine("/").read("/proc/meminfo"), HasSubstr("MemTotal:"));
}

}  // namespace
}  // namespace assay
