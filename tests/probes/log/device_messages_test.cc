// Messages of buses, drives, processors, sensors and boards, as kernels 4.19 and 6.x print them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/probes/log/diagnosed.h"

namespace assay::probes {
namespace {

using reports::FindingKind;
using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

struct Expected {
  const char* line;
  const char* code;
  const char* where;
};

TEST(DeviceMessages, eachSaysItsFindingAndItsPlace) {
  const Expected messages[] = {
      // The board's own (its table of messages).
      {"npu: expert_router_cache_miss: cache full", "NPU_ROUTER_CACHE_FULL", "NPU"},
      {"npu: THERMAL_THROTTLE triggered at 87C", "THERMAL_THROTTLE", "NPU"},
      {"npu: context length overflow", "NPU_CONTEXT_OVERFLOW", "NPU"},
      {"npu_server: failed to load model, mmap failed", "NPU_MODEL_FILE", "NPU"},
      {"npu: EXCEPTION_CODE: 0x1A (MMU_PAGE_FAULT)", "NPU_MMU_PAGE_FAULT", "NPU"},
      {"npu: EXCEPTION_CODE: 0x1a", "NPU_MMU_PAGE_FAULT", "NPU"},
      {"npu: EXCEPTION_CODE: 0x2B (ILLEGAL_OPERATION)", "NPU_EXCEPTION", "exception 0x2B"},
      {"npu: PAGE_ALIGNMENT_VIOLATION", "NPU_PAGE_ALIGNMENT_VIOLATION", "NPU"},
      {"npu: MEM_CORRUPTION_ERR at 0x84e190000", "MEM_CORRUPTION_ERR", "NPU memory"},
      // AER: before 4.18, 4.19, 5.0, 6.x, and one whose details are gone.
      {"pcieport 0000:00:1c.5: PCIe Bus Error: severity=Corrected, type=Physical Layer, "
       "id=00e5(Receiver ID)",
       "PCIE_AER_CORRECTED", "0000:00:1c.5, Physical layer"},
      {"pcieport 0000:00:1c.5: PCIe Bus Error: severity=Corrected, type=Data Link Layer, "
       "(Transmitter ID)",
       "PCIE_AER_CORRECTED", "0000:00:1c.5, Data Link layer"},
      {"nvme 0000:01:00.0: AER: PCIe Bus Error: severity=Uncorrected (Non-Fatal), "
       "type=Transaction Layer, (Requester ID)",
       "PCIE_AER_NONFATAL", "0000:01:00.0, Transaction layer"},
      {"pcieport 10000:e0:06.0: PCIe Bus Error: severity=Uncorrectable (Fatal), type=Data Link "
       "Layer, (Receiver ID)",
       "PCIE_AER_FATAL", "10000:e0:06.0, Data Link layer"},
      {"pcieport 0000:00:1c.5: PCIe Bus Error: severity=Correctable, type=Inaccessible, "
       "(Unregistered Agent ID)",
       "PCIE_AER_CORRECTED", "0000:00:1c.5"},
      {"pcieport 0000:00:01.1: AER: Multiple Uncorrectable (Non-Fatal) error message received from "
       "0000:01:00.0 (no details found",
       "PCIE_AER_NONFATAL", "0000:01:00.0"},
      // Machine checks: bit 61 of the status is "uncorrected" (Intel SDM volume 3).
      {"mce: [Hardware Error]: CPU 0: Machine Check: 0 Bank 0: 90000040000f0005",
       "CPU_ERROR_CORRECTED", "CPU 0, bank 0"},
      // mcelog(8) reads 0x0090 as RD_CHANNEL0_ERR, a memory read error.
      {"mce: [Hardware Error]: CPU 0: Machine Check: 0 Bank 7: 9c00004001010090",
       "MEM_ECC_CORRECTED", "CPU 0, bank 7"},
      {"mce: [Hardware Error]: CPU 1: Machine Check: 0 Bank 7: bd00004001010090",
       "MEM_ECC_UNCORRECTED", "CPU 1, bank 7"},
      {"mce: [Hardware Error]: CPU 2: Machine Check Exception: 5 Bank 4: b200000000040151",
       "CPU_ERROR_UNCORRECTED", "CPU 2, bank 4"},
      {"mce: [Hardware Error]: CPU 0: Machine Check: 0 Bank 0: f200084000000800",
       "CPU_ERROR_UNCORRECTED", "CPU 0, bank 0"},
      {"[Hardware Error]: CPU:3 (17:1:1) MC15_STATUS[Over|CE|MiscV|-|AddrV|-|-|SyndV|-|CECC]: "
       "0xdc2040000000011b",
       "CPU_ERROR_CORRECTED", "CPU 3, bank 15"},
      {"[Hardware Error]: CPU:3 (19:21:0) MC2_STATUS[-|UE|MiscV|AddrV|-|-|-|-|-]: "
       "0xbc00080001010135",
       "CPU_ERROR_UNCORRECTED", "CPU 3, bank 2"},
      {"mce: [Hardware Error]: Machine check events logged", "CPU_ERROR_CORRECTED", ""},
      {"Kernel panic - not syncing: Fatal machine check", "CPU_ERROR_UNCORRECTED", ""},
      {"EDAC DEVICE0: CE: cortex_arm64 instance: cpu0 block: L1 count: 1 'L1 Data RAM'",
       "CPU_ERROR_CORRECTED", "cortex_arm64 cpu0 L1"},
      {"EDAC DEVICE0: UE: cortex_arm64 instance: cpu0 block: L2 count: 1 'L2 Tag RAM'",
       "CPU_ERROR_UNCORRECTED", "cortex_arm64 cpu0 L2"},
      {"{35}[Hardware Error]: event severity: corrected", "HARDWARE_ERROR_CORRECTED", "firmware"},
      {"{1}[Hardware Error]: event severity: recoverable", "HARDWARE_ERROR_UNCORRECTED",
       "firmware"},
      // EDAC (drivers/edac/edac_mc.c).
      {"EDAC MC0: 1 CE memory read error on CPU_SrcID#0_MC#0_Chan#1_DIMM#0 (channel:1 slot:0 "
       "page:0x84e190 offset:0x40 grain:32 syndrome:0x0 -  err_code:0x0101:0x0090)",
       "MEM_ECC_CORRECTED", "MC0, CPU_SrcID#0_MC#0_Chan#1_DIMM#0"},
      {"EDAC MC1: 1 UE multi-bit error on mc#1csrow#0channel#0 (csrow:0 channel:0 page:0x1234 "
       "offset:0x0 grain:8)",
       "MEM_ECC_UNCORRECTED", "MC1, mc#1csrow#0channel#0"},
      {"EDAC MC0: 2 CE on any memory ( page:0x0 offset:0x0 grain:1 syndrome:0x0)",
       "MEM_ECC_CORRECTED", "MC0, any memory"},
      // Pages out of use: drivers/ras/cec.c, mm/madvise.c, mm/memory-failure.c.
      {"RAS: Soft-offlining pfn: 0x84e190", "MEM_PAGE_OFFLINED", "corrected errors"},
      {"Soft offlining pfn 0x12f00 at process virtual address 0x7f5d6c7e1000", "MEM_PAGE_OFFLINED",
       "corrected errors"},
      {"soft offline: 0x12f00: page already poisoned", "MEM_PAGE_OFFLINED", "corrected errors"},
      {"Memory failure: 0x12f00: recovery action for dirty LRU page: Recovered",
       "MEM_PAGE_OFFLINED", "uncorrected errors"},
      // Heat: 3.x, 4.19, 5.12, 6.x.
      {"thermal_sys: Critical temperature reached(100 C),shutting down", "THERMAL_SHUTDOWN", ""},
      {"thermal thermal_zone3: critical temperature reached (80 C), shutting down",
       "THERMAL_SHUTDOWN", "thermal_zone3"},
      {"thermal thermal_zone0: gpu-thermal: critical temperature reached, shutting down",
       "THERMAL_SHUTDOWN", "thermal_zone0"},
      {"thermal thermal_zone0: cpu-thermal: critical temperature reached", "THERMAL_TRIP",
       "thermal_zone0"},
      {"reboot: HARDWARE PROTECTION shutdown (Temperature too high)", "THERMAL_SHUTDOWN", ""},
      {"thermal thermal_zone1: trip point 2 (passive) crossed at 95000", "THERMAL_TRIP",
       "thermal_zone1"},
      {"CPU3: Core temperature above threshold, cpu clock throttled (total events = 1)",
       "THERMAL_THROTTLE", "CPU Core"},
      {"mce: CPU3: Package temperature is above threshold, cpu clock is throttled (total events = "
       "7)",
       "THERMAL_THROTTLE", "CPU Package"},
      // Power.
      {"Under-voltage detected! (0x00050005)", "POWER_UNDERVOLTAGE", "supply voltage"},
      {"hwmon hwmon1: Undervoltage detected!", "POWER_UNDERVOLTAGE", "supply voltage"},
      // NVMe: 4.x, 5.x, 6.x.
      {"nvme nvme0: I/O 14 QID 2 timeout, aborting", "NVME_TIMEOUT", "nvme0"},
      {"nvme nvme0: I/O 257 (I/O Cmd) QID 2 timeout, aborting", "NVME_TIMEOUT", "nvme0"},
      {"nvme nvme2: I/O 0 QID 0 timeout, reset controller", "NVME_TIMEOUT", "nvme2"},
      {"nvme nvme0: I/O 897 QID 2 timeout, completion polled", "NVME_TIMEOUT", "nvme0"},
      {"nvme nvme1: I/O tag 489 (d1e9) opcode 0x1 (I/O Cmd) QID 3 timeout, aborting "
       "req_op:WRITE(1) size:524288",
       "NVME_TIMEOUT", "nvme1"},
      {"nvme nvme0: controller is down; will reset: CSTS=0xffffffff, PCI_STATUS=0x10", "NVME_RESET",
       "nvme0"},
      {"nvme nvme0: Device not ready; aborting reset, CSTS=0x1", "NVME_LOST", "nvme0"},
      {"nvme nvme2: Removing after probe failure status: -19", "NVME_LOST", "nvme2"},
      {"nvme nvme0: Disabling device after reset failure: -19", "NVME_LOST", "nvme0"},
      // USB.
      {"usb usb1-port2: over-current condition", "USB_OVER_CURRENT", "usb1-port2"},
      {"hub 1-1:1.0: over-current condition on port 2", "USB_OVER_CURRENT", "1-1:1.0 port 2"},
      {"usb 1-1.1-port3: over-current change #801", "USB_OVER_CURRENT", "1-1.1-port3"},
      {"dwc2 ffb40000.usb: Overcurrent change detected", "USB_OVER_CURRENT", "ffb40000.usb"},
      {"usb 1-1: device descriptor read/64, error -71", "USB_DEVICE_ERROR", "usb 1-1"},
      {"usb 2-1.4: device descriptor read/all, error -110", "USB_DEVICE_ERROR", "usb 2-1.4"},
      {"usb 1-1.2: device not accepting address 5, error -71", "USB_DEVICE_ERROR", "usb 1-1.2"},
      {"usb usb1-port2: unable to enumerate USB device", "USB_DEVICE_ERROR", "usb 1-2"},
      {"usb 1-1-port2: unable to enumerate USB device", "USB_DEVICE_ERROR", "usb 1-1.2"},
      // Serial ports: 4.x and 5.x.
      {"ttyS ttyS0: 3 input overrun(s)", "UART_OVERRUN", "ttyS0"},
      {"ttyAMA0: 1 input overrun(s)", "UART_OVERRUN", "ttyAMA0"},
      // Hung tasks.
      {"INFO: task kworker/0:1:123 blocked for more than 120 seconds.", "KERNEL_HUNG_TASK",
       "kworker/0:1"},
      {"INFO: task jbd2/nvme0n1p2-:301 blocked in I/O wait for more than 122 seconds.",
       "KERNEL_HUNG_TASK", "jbd2/nvme0n1p2-"},
  };
  for (const Expected& expected : messages) {
    for (const char* prefix : {"", "[   12.345678] ", "Dec 03 11:53:01 board kernel: ",
                               "3,99,12345678,-;", "01-01 04:02:47.025     0     0 W "}) {
      const LogFinding found = only_finding(std::string(prefix) + expected.line + "\n");
      EXPECT_EQ(found.finding.code, expected.code) << prefix << expected.line;
      EXPECT_EQ(found.finding.where, expected.where) << prefix << expected.line;
      EXPECT_FALSE(found.finding.likely.empty()) << expected.line;
      EXPECT_FALSE(found.finding.remedy.empty()) << expected.line;
      EXPECT_THAT(found.finding.evidence, Contains(HasSubstr(expected.line)));
      EXPECT_THAT(found.finding.message, Not(testing::ContainsRegex("[][{}]"))) << expected.line;
    }
  }
}

// What a sound machine says while it starts and works.
TEST(DeviceMessages, ordinaryLinesAreNoFindings) {
  const char* const ordinary[] = {
      "nvme nvme0: 8/0/0 default/read/poll queues",
      "nvme nvme0: pci function 0000:01:00.0",
      "nvme nvme0: Shutdown timeout set to 10 seconds",
      "EDAC MC: Ver: 3.0.0",
      "EDAC MC0: Giving out device to module i10nm_edac controller Intel_10nm Socket#0 IMC#0",
      "EDAC DEVICE0: Giving out device to module cortex_arm64_edac",
      "pcieport 0000:00:1c.0: AER: enabled with IRQ 122",
      "pcieport 0000:00:1c.5: AER: Corrected error received: 0000:00:1c.5",
      "mce: CPU supports 9 MCE banks",
      "CPU3: Core temperature/speed normal",
      "thermal thermal_zone0: power_allocator: sustainable_power will be estimated",
      "thermal_sys: Registered thermal governor 'step_wise'",
      "hwmon hwmon1: Voltage normalised",
      "Voltage normalised (0x00000000)",
      "usb 1-1: new high-speed USB device number 2 using xhci_hcd",
      "hub 1-0:1.0: 4 ports detected",
      "ttyS0 at I/O 0x3f8 (irq = 4, base_baud = 115200) is a 16550A",
      "software IO TLB: mapped [mem 0x7b000000-0x7f000000] (64MB)",
      "cma: Reserved 64 MiB at 0x000000003b400000",
      "RKNPU fde40000.npu: RKNPU: rknpu iommu is enabled, using iommu mode",
      "npu: thermal throttle released",
      "Injecting memory failure for pfn 0x12f00 at process virtual address 0x7f0000",
      "oom_reaper: reaped process 1234 (python3), now anon-rss:0kB, file-rss:0kB, shmem-rss:0kB",
      "page_reporting_drain_all: err=0"};
  std::string log;
  for (const char* line : ordinary) log += std::string("[    1.000000] ") + line + "\n";
  for (const LogFinding& found : diagnosed(log).findings) ADD_FAILURE() << found.finding.message;
}

TEST(DeviceMessages, errorsOfALinkAreCountedBySourceAndLayerWithTheirDetails) {
  std::string log;
  for (int i = 0; i < 37; ++i) {
    const std::string time = "[  1" + std::to_string(100 + i) + ".000000] pcieport 0000:00:1c.5: ";
    log += time + "AER: Corrected error received: 0000:00:1c.5\n" + time +
           "AER: PCIe Bus Error: severity=Corrected, type=Physical Layer, (Receiver ID)\n" + time +
           "  device [8086:9d15] error status/mask=00000001/00002000\n" + time +
           "   [ 0] RxErr                  (First)\n";
  }
  log +=
      "[ 1200.000000] pcieport 0000:00:1c.5: AER: PCIe Bus Error: severity=Corrected, type=Data "
      "Link Layer, (Transmitter ID)\n[ 1200.000001] nvme nvme0: 8/0/0 queues\n";
  const LogResult result = diagnosed(log);
  ASSERT_EQ(result.findings.size(), 2U);
  const LogFinding physical = result.findings[0];
  EXPECT_EQ(physical.count, 37U);
  EXPECT_EQ(physical.first, "1100.000000 s after the start");
  EXPECT_EQ(physical.last, "1136.000000 s after the start");
  EXPECT_EQ(physical.line, 2U);
  EXPECT_EQ(physical.finding.kind, FindingKind::observation);
  EXPECT_THAT(physical.finding.message,
              AllOf(HasSubstr("0000:00:1c.5 reported errors of its Physical layer that the link "
                              "corrected."),
                    HasSubstr("Seen 37 times, first at 1100.000000 s after the start, last at "
                              "1136.000000 s after the start.")));
  EXPECT_THAT(physical.finding.evidence,
              ElementsAre(HasSubstr("line 2: "), HasSubstr("status/mask=00000001/00002000"),
                          HasSubstr("RxErr"), HasSubstr("Corrected error received")));
  EXPECT_EQ(result.findings[1].count, 1U);
  EXPECT_EQ(result.findings[1].finding.evidence.size(), 1U);
}

TEST(DeviceMessages, aLineSaysHowManyErrorsItStandsFor) {
  const LogFinding found = only_finding(
      "EDAC MC0: 1 CE memory read error on DIMM_A (channel:0)\n"
      "EDAC MC0: 41 CE memory read error on DIMM_A (channel:0)\n");
  EXPECT_EQ(found.count, 42U);
  EXPECT_EQ(only_finding("ttyS ttyS0: 3 input overrun(s)\n").count, 3U);
}

// The kernel says twice that it was too hot, and of a machine check that it kept.
TEST(DeviceMessages, whatOnlyRepeatsAnotherIsItsEvidence) {
  const LogFinding hot = only_finding(
      "[   90.1] thermal thermal_zone0: gpu-thermal: critical temperature reached, shutting down\n"
      "[   90.2] reboot: HARDWARE PROTECTION shutdown (Temperature too high)\n");
  EXPECT_EQ(hot.finding.code, "THERMAL_SHUTDOWN");
  EXPECT_EQ(hot.finding.where, "thermal_zone0");
  EXPECT_THAT(hot.finding.evidence, Contains(HasSubstr("HARDWARE PROTECTION")));
  const LogFinding check = only_finding(
      "mce: [Hardware Error]: Machine check events logged\n"
      "mce: [Hardware Error]: CPU 0: Machine Check: 0 Bank 0: 90000040000f0005\n"
      "mce: [Hardware Error]: TSC 0 ADDR 4a0d75900 MISC 21405cdc86\n"
      "mce: [Hardware Error]: PROCESSOR 0:206d7 TIME 1428957562 SOCKET 0 APIC 0\n");
  EXPECT_EQ(check.finding.where, "CPU 0, bank 0");
  EXPECT_THAT(check.finding.evidence,
              ElementsAre(HasSubstr("Bank 0"), HasSubstr("ADDR 4a0d75900"), HasSubstr("SOCKET 0"),
                          HasSubstr("events logged")));
  // Three voices of one memory error: the processor, its record, and EDAC, which knows the module.
  const LogFinding memory = only_finding(
      "May  7 06:45:12 board kernel: mce: [Hardware Error]: Machine check events logged\n"
      "May  7 06:45:12 board kernel: mce: [Hardware Error]: CPU 0: Machine Check: 0 Bank 7: "
      "9c00004001010090\n"
      "May  7 06:45:12 board kernel: {35}[Hardware Error]: event severity: corrected\n"
      "May  7 06:45:12 board kernel: EDAC MC0: 4 CE error on CPU#0Channel#2_DIMM#0 (channel:2 "
      "slot:0 page:0x0 offset:0x0 grain:8 syndrome:0x0)\n");
  EXPECT_EQ(memory.finding.code, "MEM_ECC_CORRECTED");
  EXPECT_EQ(memory.finding.where, "MC0, CPU#0Channel#2_DIMM#0");
  EXPECT_EQ(memory.finding.evidence.size(), 4U);
}

TEST(DeviceMessages, aDriveThatTimesOutSaysWhatWasDone) {
  EXPECT_THAT(only_finding("nvme nvme0: I/O tag 641 (0281) opcode 0x2 (I/O Cmd) QID 1 timeout, "
                           "aborting req_op:READ(0) size:524288\n"
                           "nvme nvme0: I/O tag 641 (0281) opcode 0x2 (I/O Cmd) QID 1 timeout, "
                           "reset controller\n")
                  .finding.message,
              HasSubstr("did not answer in time (first: aborting). Seen 2 times."));
}

// What the firmware tells of an error is several lines.
TEST(DeviceMessages, aFirmwareRecordIsItsEvidence) {
  const LogFinding found = only_finding(
      "[ 1.0] {35}[Hardware Error]: Hardware error from APEI Generic Hardware Error Source: 4\n"
      "[ 1.0] {35}[Hardware Error]: event severity: corrected\n"
      "[ 1.0] {35}[Hardware Error]:  Error 0, type: corrected\n"
      "[ 1.0] {35}[Hardware Error]:  fru_text: D2\n"
      "[ 1.0] {35}[Hardware Error]:   section_type: memory error\n");
  EXPECT_EQ(found.finding.code, "HARDWARE_ERROR_CORRECTED");
  EXPECT_THAT(found.finding.evidence, Contains(HasSubstr("section_type: memory error")));
}

TEST(DeviceMessages, pagesOutOfUseAreListed) {
  const LogFinding found = only_finding(
      "RAS: Soft-offlining pfn: 0x84e190\nRAS: Soft-offlining pfn: 0x84e191\n"
      "RAS: Soft-offlining pfn: 0x84e190\n");
  EXPECT_EQ(found.count, 3U);
  EXPECT_THAT(found.finding.message, HasSubstr("0x84e190, 0x84e191."));
}

TEST(DeviceMessages, oneDeviceThatFailsInSeveralWaysIsOneFinding) {
  const LogFinding found = only_finding(
      "usb 1-2: device descriptor read/64, error -71\n"
      "usb 1-2: device not accepting address 5, error -71\n"
      "usb usb1-port2: unable to enumerate USB device\n");
  EXPECT_EQ(found.finding.code, "USB_DEVICE_ERROR");
  EXPECT_EQ(found.count, 3U);
  EXPECT_THAT(found.finding.message, HasSubstr("Protocol error (-71)"));
}

}  // namespace
}  // namespace assay::probes
