// Logs that kernels in QEMU printed when errors were put into them:
// tests/data/kernel-logs/README.md says which.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <set>
#include <sstream>
#include <string>

#include "tests/probes/log/diagnosed.h"

namespace assay::probes {
namespace {

using testing::AllOf;
using testing::HasSubstr;

std::string kernel_log(const std::string& name) {
  std::ifstream file(std::string(ASSAY_KERNEL_LOGS) + "/" + name, std::ios::binary);
  std::stringstream content;
  content << file.rdbuf();
  return content.str();
}

using CodeAndPlace = std::pair<std::string, std::string>;
std::set<CodeAndPlace> places_of(const LogResult& result) {
  std::set<CodeAndPlace> places;
  for (const LogFinding& one : result.findings) {
    places.emplace(one.finding.code, one.finding.where);
  }
  return places;
}

TEST(RealKernels, arm64WithPagesOf4KiB) {
  const LogResult result = diagnosed(kernel_log("6.1-arm64.log"));
  EXPECT_EQ(result.kernel, "6.1.0-57-arm64");
  EXPECT_EQ(result.page_bytes, 4096U);
  EXPECT_EQ(result.page_size_from, PageSizeFrom::log);
  // The fatal error of its port reset the drive, too. Bits 0 and 6 of the corrected errors are
  // Receiver Error and Bad TLP; 14 and 4 of the others Completion Timeout and Data Link Protocol
  // Error (PCI Express Base Specification, AER).
  EXPECT_EQ(places_of(result),
            (std::set<CodeAndPlace>{{"PCIE_AER_CORRECTED", "0000:00:01.0, Physical layer"},
                                    {"PCIE_AER_CORRECTED", "0000:00:01.0, Data Link layer"},
                                    {"PCIE_AER_NONFATAL", "0000:00:01.0, Transaction layer"},
                                    {"PCIE_AER_FATAL", "0000:00:01.0, Data Link layer"},
                                    {"NVME_RESET", "nvme0"},
                                    {"MEM_PAGE_OFFLINED", "uncorrected errors"},
                                    {"SWIOTLB_FULL", "0000:01:00.0"},
                                    {"MEM_OOM_KILL", "tail"},
                                    {"MEM_OOM_KILL", "init"}}));
  // 0x4c100000 is in the page frame 0x4c100.
  EXPECT_THAT(finding_in(result, "MEM_PAGE_OFFLINED").finding.message, HasSubstr(": 0x4c100."));
  // 512 slots of 2 KiB.
  EXPECT_THAT(finding_in(result, "SWIOTLB_FULL").finding.message,
              AllOf(HasSubstr("504 of 512 slots"), HasSubstr("The pool has 1 MiB.")));
  // The list in the log adds up to 2908 kB.
  EXPECT_THAT(finding_in(result, "MEM_OOM_KILL", "tail").finding.message,
              HasSubstr("3 MiB was free then"));
}

TEST(RealKernels, arm64WithPagesOf16KiB) {
  const LogResult result = diagnosed(kernel_log("6.12-arm64-16k.log"));
  EXPECT_EQ(result.kernel, "6.12.117+deb13-arm64-16k");
  EXPECT_EQ(result.page_bytes, 16384U);
  EXPECT_EQ(result.page_size_from, PageSizeFrom::log);
  EXPECT_EQ(places_of(result),
            (std::set<CodeAndPlace>{{"PCIE_AER_CORRECTED", "0000:00:01.0, Physical layer"},
                                    {"PCIE_AER_NONFATAL", "0000:00:01.0, Transaction layer"},
                                    {"PCIE_AER_FATAL", "0000:00:01.0, Data Link layer"},
                                    {"NVME_RESET", "nvme0"},
                                    {"CMA_ALLOC_FAILED", "CMA area reserved"},
                                    {"MEM_PAGE_OFFLINED", "uncorrected errors"},
                                    {"MEM_OOM_KILL", "tail"}}));
  // A frame of 16,588,800 bytes is 1013 pages of 16 KiB; 779 pages in a row are 12 MiB.
  EXPECT_THAT(finding_in(result, "CMA_ALLOC_FAILED").finding.message,
              AllOf(HasSubstr("1013 pages of 16 KiB = 16 MiB"), HasSubstr("The area has 32 MiB;"),
                    HasSubstr("the longest run 12 MiB")));
}

// The status words are what was put in; of the third one, which ended the machine, only the panic
// was printed.
TEST(RealKernels, machineChecksOfX86) {
  const LogResult result = diagnosed(kernel_log("6.1-x86-machine-check.log"));
  EXPECT_EQ(places_of(result), (std::set<CodeAndPlace>{{"MEM_ECC_CORRECTED", "CPU 0, bank 5"},
                                                       {"CPU_ERROR_CORRECTED", "CPU 0, bank 2"},
                                                       {"CPU_ERROR_UNCORRECTED", ""}}));
  EXPECT_THAT(finding_in(result, "MEM_ECC_CORRECTED").finding.evidence,
              testing::Contains(HasSubstr("ADDR 84e190000")));
}

}  // namespace
}  // namespace assay::probes
