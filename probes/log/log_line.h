// What stands in front of a kernel's message: the time stamps and names of dmesg, journalctl,
// syslog, logcat and /dev/kmsg. No I/O.
//
//   [   12.345678] [T123] message                          dmesg; also -x, -r, -H, -d, -T
//   2026-12-03T11:53:01,123456+00:00 message               dmesg --time-format iso
//   Dec 03 11:53:01.123456 host kernel: message            journalctl -o short, short-precise,
//   syslog 2026-12-03T11:53:01+0000 host kernel: message          journalctl -o short-iso, rsyslog
//   Thu 2026-12-03 11:53:01 UTC host kernel: message       journalctl -o short-full
//   1764762781.123456 host kernel: message                 journalctl -o short-unix
//   [   12.345678] host kernel: message                    journalctl -o short-monotonic
//   12-03 11:53:01.123   123   123 W tag: message          logcat -v threadtime; also time, brief
//   4,1204,88123456,-;message                              /dev/kmsg (ABI/testing/dev-kmsg)
#pragma once

#include <string>
#include <string_view>

namespace assay::probes {

enum class LogClock {
  none,  // the line has no time
  boot,  // seconds since the kernel started
  wall,  // date and time, in the log's own words
};

struct LogLine {
  LogClock clock = LogClock::none;
  std::string_view time;         // as it stands in the line
  bool is_microseconds = false;  // of `time`: as /dev/kmsg has it
  // What the kernel or the program said. A logcat tag is a part of it: the kernel's lines come
  // with what stands before their colon as the tag.
  std::string_view message;
};

// The views are parts of `line`.
LogLine parse_log_line(std::string_view line);

// "12.345678 s after the start", "Dec 03 11:53:01"; empty without a time. Safe to print.
std::string time_text(const LogLine& line);

}  // namespace assay::probes
