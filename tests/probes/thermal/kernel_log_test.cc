#include "probes/thermal/kernel_log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/base/scratch.h"

namespace assay::probes {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(KernelLog, takesTheMessageOfARecord) {
  // The first two stand in Documentation/ABI/testing/dev-kmsg.
  EXPECT_EQ(
      kmsg_message(
          "7,160,424069,-;pci_root PNP0A03:00: host bridge window [io  0x0000-0x0cf7] (ignored)"),
      "pci_root PNP0A03:00: host bridge window [io  0x0000-0x0cf7] (ignored)");
  EXPECT_EQ(kmsg_message("6,339,5140900,-;NET: Registered protocol family 10"),
            "NET: Registered protocol family 10");
  EXPECT_EQ(kmsg_message("4,1204,88123456,-,caller=T12;npu: a;b"), "npu: a;b");
}

TEST(KernelLog, whatIsNoRecordHasNoMessage) {
  for (const char* record :
       {"", " SUBSYSTEM=acpi", " DEVICE=+acpi:PNP0A03:00;x", "no header", "4,1,2,-"}) {
    EXPECT_EQ(kmsg_message(record), "") << record;
  }
  EXPECT_EQ(kmsg_message("4,1,2,-;"), "");
}

TEST(KernelLog, messagesAreSafeToPrintAndHaveAnEnd) {
  EXPECT_EQ(kmsg_message("4,1,2,-;\x1B[2Jx\xFF"), "\\x1B[2Jx\xEF\xBF\xBD");
  EXPECT_EQ(kmsg_message("4,1,2,-;" + std::string(5000, 'x')).size(), 1000U);
}

TEST(KernelLog, findsLinesInTheirOrder) {
  const test::Scratch root;
  root.write("dev/kmsg",
             "6,1,10,-;npu: ready\n"
             "4,2,20,-;npu: THERMAL_THROTTLE triggered at 87C\n"
             " DEVICE=+pci:0000:01:00.0 THERMAL_THROTTLE\n"
             "6,3,30,-;other\n"
             "4,4,40,-;npu: THERMAL_THROTTLE triggered at 88C");
  const Machine machine(root.root());
  EXPECT_THAT(kernel_log_lines(machine, "THERMAL_THROTTLE"),
              ElementsAre("npu: THERMAL_THROTTLE triggered at 87C",
                          "npu: THERMAL_THROTTLE triggered at 88C"));
  EXPECT_THAT(kernel_log_lines(machine, "nothing of this"), IsEmpty());
}

TEST(KernelLog, aLogThatCannotBeReadIsEmpty) {
  const test::Scratch root;
  EXPECT_THAT(kernel_log_lines(Machine(root.root()), "x"), IsEmpty());
  std::filesystem::create_directories(root / "dev/kmsg");
  EXPECT_THAT(kernel_log_lines(Machine(root.root()), "x"), IsEmpty());
}

TEST(KernelLog, tellsNewRecordsByTheirSequenceNumber) {
  const test::Scratch root;
  const Machine machine(root.root());
  EXPECT_EQ(kernel_log_end(machine), 0U);
  root.write("dev/kmsg", "4,7,10,-;hot\n DEVICE=a,99,b\n4,8,20,-;hot again\nno,header\n");
  EXPECT_EQ(kernel_log_end(machine), 9U);
  EXPECT_EQ(kernel_log_lines(machine, "hot").size(), 2U);
  EXPECT_THAT(kernel_log_lines(machine, "hot", 8), ElementsAre("hot again"));
  EXPECT_THAT(kernel_log_lines(machine, "hot", 9), IsEmpty());
  // More old lines than a call gives hide no new one.
  std::string log;
  for (int i = 0; i < 1500; ++i) log += "4," + std::to_string(i) + ",2,-;hot\n";
  root.write("dev/kmsg", log + "4,1500,2,-;hot now\n");
  EXPECT_THAT(kernel_log_lines(machine, "hot", 1500), ElementsAre("hot now"));
}

TEST(KernelLog, keepsABoundedNumberOfLines) {
  const test::Scratch root;
  std::string log;
  for (int i = 0; i < 3000; ++i) log += "4,1,2,-;line " + std::to_string(i) + "\n";
  root.write("dev/kmsg", log);
  EXPECT_EQ(kernel_log_lines(Machine(root.root()), "line").size(), 1000U);
}

}  // namespace
}  // namespace assay::probes
