#include "probes/log/log_line.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace assay::probes {
namespace {

struct Example {
  const char* line;
  const char* time;  // as time_text() says it
  const char* message;
};

// Each as the program named writes it: dmesg(1), journalctl(1), logcat, and
// Documentation/ABI/testing/dev-kmsg.
const Example examples[] = {
    // dmesg, with the caller (CONFIG_PRINTK_CALLER), -x, -r, -d, --reltime, -T, iso.
    {"[   12.345678] nvme nvme0: x", "12.345678 s after the start", "nvme nvme0: x"},
    {"[    0.000000][    T0] nvme nvme0: x", "0.000000 s after the start", "nvme nvme0: x"},
    {"[    5.000001] [    C1] nvme nvme0: x", "5.000001 s after the start", "nvme nvme0: x"},
    {"[3061045.152954] nvme nvme0: x", "3061045.152954 s after the start", "nvme nvme0: x"},
    {"kern  :err   : [   12.345678] nvme nvme0: x", "12.345678 s after the start", "nvme nvme0: x"},
    {"<3>[   12.345678] nvme nvme0: x", "12.345678 s after the start", "nvme nvme0: x"},
    {"[   12.345678 <    0.000004>] nvme nvme0: x", "12.345678 s after the start", "nvme nvme0: x"},
    {"[  +8.063930] hwmon hwmon1: x", "+8.063930 s after the start", "hwmon hwmon1: x"},
    {"[Aug28 17:07] hwmon hwmon1: x", "Aug28 17:07", "hwmon hwmon1: x"},
    {"[Thu Dec  3 11:53:01 2026] nvme nvme0: x", "Thu Dec  3 11:53:01 2026", "nvme nvme0: x"},
    {"2026-12-03T11:53:01,123456+00:00 nvme nvme0: x", "2026-12-03T11:53:01,123456+00:00",
     "nvme nvme0: x"},
    // journalctl: short, short-precise, short-iso, short-full, short-unix, short-monotonic.
    {"Dec 03 11:53:01 board kernel: nvme nvme0: x", "Dec 03 11:53:01", "nvme nvme0: x"},
    {"Dec 03 11:53:01.123456 board kernel: nvme nvme0: x", "Dec 03 11:53:01.123456",
     "nvme nvme0: x"},
    {"2026-12-03T11:53:01+0000 board kernel: nvme nvme0: x", "2026-12-03T11:53:01+0000",
     "nvme nvme0: x"},
    {"Thu 2026-12-03 11:53:01 UTC board kernel: nvme nvme0: x", "Thu 2026-12-03 11:53:01 UTC",
     "nvme nvme0: x"},
    {"1764762781.123456 board kernel: nvme nvme0: x", "1764762781.123456", "nvme nvme0: x"},
    {"[   12.345678] board kernel: nvme nvme0: x", "12.345678 s after the start", "nvme nvme0: x"},
    {"Dec 03 11:53:01 board rknn_server[361]: failed", "Dec 03 11:53:01", "failed"},
    {"Dec 03 11:53:01 kernel: nvme nvme0: x", "Dec 03 11:53:01", "nvme nvme0: x"},
    // syslog, with the kernel's own time behind it; rsyslog's high precision.
    {"Dec  3 11:53:01 board kernel: [   12.345678] nvme nvme0: x", "Dec  3 11:53:01",
     "nvme nvme0: x"},
    {"2026-12-03T11:53:01.123456+01:00 board kernel: [   12.345678] nvme nvme0: x",
     "2026-12-03T11:53:01.123456+01:00", "nvme nvme0: x"},
    // logcat: threadtime (the kernel's lines too), with a year, time, brief.
    {"09-14 08:45:03.277  6912  6913 E RKNN    : failed", "09-14 08:45:03.277", "RKNN    : failed"},
    {"01-01 04:02:47.025     0     0 W RKNPU fde40000.npu: x", "01-01 04:02:47.025",
     "RKNPU fde40000.npu: x"},
    {"2022-07-06 15:37:03.100 12848-12876 E/RKNN: failed", "2022-07-06 15:37:03.100",
     "RKNN: failed"},
    {"09-14 08:45:03.277 E/RKNN( 6912): failed", "09-14 08:45:03.277", "RKNN( 6912): failed"},
    {"E/RKNN( 6912): failed", "", "RKNN( 6912): failed"},
    // /dev/kmsg.
    {"4,1204,88123456,-;nvme nvme0: x", "88.123456 s after the start", "nvme nvme0: x"},
    {"3,7,5,c,caller=T12;nvme nvme0: x;y", "0.000005 s after the start", "nvme nvme0: x;y"},
    // No time at all.
    {"nvme nvme0: x", "", "nvme nvme0: x"},
    {"", "", ""},
};

TEST(LogLine, takesThePrefixOfEachFormatOff) {
  for (const Example& example : examples) {
    const LogLine line = parse_log_line(example.line);
    EXPECT_EQ(time_text(line), example.time) << example.line;
    EXPECT_EQ(line.message, example.message) << example.line;
  }
}

// A message may begin with what looks like a prefix.
TEST(LogLine, leavesTheMessageWhole) {
  for (const char* message :
       {"[drm] Initialized rknpu 0.9.8 for fde40000.npu on minor 1", "[Hardware Error]: x",
        "{1}[Hardware Error]: event severity: corrected", "<TASK>", "kernel BUG at mm/slub.c:1!",
        "usb 1-1: device descriptor read/64, error -71", "May be", "12 pages", "4,5 volts",
        "[  12] Timeout", "W: x", "[1.2.3.4] x"}) {
    EXPECT_EQ(parse_log_line(message).message, message);
    EXPECT_EQ(parse_log_line(std::string("[    1.000000] ") + message).message, message);
  }
}

TEST(LogLine, isSafeWhereALineIsCutAnywhere) {
  for (const Example& example : examples) {
    const std::string whole = example.line;
    for (std::size_t length = 0; length <= whole.size(); ++length) {
      const std::string part = whole.substr(0, length);
      const LogLine line = parse_log_line(part);
      EXPECT_TRUE(part.ends_with(line.message)) << part;
      EXPECT_LT(time_text(line).size(), 80U) << part;
    }
  }
}

}  // namespace
}  // namespace assay::probes
