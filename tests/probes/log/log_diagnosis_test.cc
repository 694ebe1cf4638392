// What holds for every log, whatever it says.
#include "probes/log/log_diagnosis.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <string>

#include "tests/probes/log/diagnosed.h"

namespace assay::probes {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

constexpr const char* timeout = "nvme nvme0: I/O 14 QID 2 timeout, aborting";

TEST(LogDiagnosis, anEmptyLogSaysNothing) {
  EXPECT_THAT(diagnosed("").findings, IsEmpty());
  EXPECT_THAT(diagnosed("\n\r\n\n").findings, IsEmpty());
}

TEST(LogDiagnosis, aFindingIsToldOnceWithItsTimesAndItsFirstLine) {
  const LogFinding found =
      only_finding(std::string("[    1.000000] other\r\n[   10.000000] ") + timeout +
                   "\r\n[   20.000000] " + timeout + "\r\n[   30.000000] " + timeout + "\r\n");
  EXPECT_EQ(found.count, 3U);
  EXPECT_EQ(found.line, 2U);
  EXPECT_EQ(found.first, "10.000000 s after the start");
  EXPECT_EQ(found.last, "30.000000 s after the start");
  EXPECT_EQ(found.finding.evidence,
            std::vector<std::string>{std::string("line 2: [   10.000000] ") + timeout});
}

TEST(LogDiagnosis, aLogWithoutTimesSaysNone) {
  const LogFinding found = only_finding(std::string(timeout) + "\n" + timeout + "\n");
  EXPECT_EQ(found.first, "");
  EXPECT_THAT(found.finding.message, HasSubstr("Seen 2 times."));
}

TEST(LogDiagnosis, readsTheLineThatTheLogEndsIn) {
  EXPECT_EQ(only_finding(timeout).finding.code, "NVME_TIMEOUT");
  // Cut off anywhere before its end, it is no such message, and no harm.
  for (std::size_t length = 0; length < 30; ++length) {
    EXPECT_THAT(diagnosed(std::string(timeout).substr(0, length)).findings, IsEmpty()) << length;
  }
}

TEST(LogDiagnosis, looksAtTheStartOfAVeryLongLine) {
  const std::string rest(3 * LineReader::most_line_bytes, 'x');
  const LogFinding found = only_finding(std::string(timeout) + rest + "\n");
  EXPECT_EQ(found.finding.code, "NVME_TIMEOUT");
  EXPECT_LT(found.finding.evidence.front().size(), 400U);
  EXPECT_THAT(diagnosed(rest + timeout + "\n").findings, IsEmpty());
}

TEST(LogDiagnosis, bytesThatAreNoTextDoNoHarm) {
  std::mt19937 random(7);
  std::string garbage;
  for (int i = 0; i < 200'000; ++i) garbage += static_cast<char>(random() & 0xFF);
  EXPECT_THAT(diagnosed(garbage).findings, IsEmpty());
  const LogFinding found = only_finding(garbage + "\n" + timeout + "\n" + garbage);
  EXPECT_EQ(found.finding.code, "NVME_TIMEOUT");
}

// A log comes from somewhere else; what is printed of it must not drive a terminal.
TEST(LogDiagnosis, whatIsToldIsSafeToPrint) {
  const LogResult result = diagnosed(
      "INFO: task evil\x1B[2J\x07\xFF:12 blocked for more than 120 seconds.\n"
      "EDAC MC0: 1 CE on a\x1B]0;x\x07 (b)\n");
  ASSERT_THAT(result.findings, SizeIs(2));
  for (const LogFinding& found : result.findings) {
    for (const std::string& text :
         {found.finding.message, found.finding.where, found.finding.evidence.front()}) {
      EXPECT_EQ(text.find('\x1B'), std::string::npos);
      EXPECT_EQ(text.find('\x07'), std::string::npos);
      EXPECT_EQ(text.find('\xFF'), std::string::npos);
    }
    EXPECT_THAT(found.finding.message, HasSubstr("\\x1B"));
  }
}

TEST(LogDiagnosis, keepsABoundedNumberAndCountsTheRest) {
  std::string log;
  const std::size_t places = LogDiagnosis::most_findings + 50;
  for (std::size_t i = 0; i < places; ++i) {
    log += "usb 1-" + std::to_string(i) + ": device descriptor read/64, error -71\n";
  }
  const LogResult result = diagnosed(log + "usb 1-0: device descriptor read/64, error -71\n");
  EXPECT_THAT(result.findings, SizeIs(LogDiagnosis::most_findings));
  EXPECT_EQ(result.events_left_out, 50U);
  EXPECT_EQ(result.findings.front().count, 2U);
}

TEST(LogDiagnosis, addsUpWhatTheKernelLeftOut) {
  EXPECT_EQ(diagnosed("warn_alloc: 59 callbacks suppressed\n"
                      "rpi_firmware_get_throttled: 4 callbacks suppressed\n"
                      "** 12 printk messages dropped **\n")
                .messages_suppressed,
            75U);
}

TEST(LogDiagnosis, findingsStandInTheOrderOfTheLog) {
  const LogResult result = diagnosed(
      "mce: [Hardware Error]: Machine check events logged\n"
      "usb 1-1: device descriptor read/64, error -71\n"
      "nvme nvme0: I/O 14 QID 2 timeout, aborting\n");
  ASSERT_THAT(result.findings, SizeIs(3));
  EXPECT_EQ(result.findings[0].finding.code, "CPU_ERROR_CORRECTED");
  EXPECT_EQ(result.findings[1].finding.code, "USB_DEVICE_ERROR");
  EXPECT_EQ(result.findings[2].finding.code, "NVME_TIMEOUT");
}

TEST(LogDiagnosis, namesTheKernel) {
  EXPECT_EQ(diagnosed("[    0.000000] Linux version 4.19.172 (gcc) #38 SMP PREEMPT\n").kernel,
            "4.19.172");
  EXPECT_EQ(diagnosed("other\n").kernel, "");
}

// The result so far can be asked for at any time, as when a long log is given up.
TEST(LogDiagnosis, canBeAskedInTheMiddle) {
  LogDiagnosis diagnosis;
  diagnosis.add(timeout);
  EXPECT_EQ(diagnosis.result().findings.front().count, 1U);
  diagnosis.add(timeout);
  EXPECT_EQ(diagnosis.result().findings.front().count, 2U);
}

}  // namespace
}  // namespace assay::probes
