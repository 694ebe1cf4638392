// The command line of the reference firmware as a process.
#pragma once

#include <cstdint>
#include <string>

#include "firmware/device/host/line.h"

namespace assay::firmware::device::host {

struct Options {
  std::string version = "2.3.1";
  std::string serial = "M6-0000-000000";
  std::string board = "reference";
  std::string flash;               // the chip's file; empty: one that forgets
  std::uint32_t baud = 0;          // after a boot; 0: the rate makes no difference
  std::uint32_t cut_power_at = 0;  // after so many bytes that came in; 0: never
  LineFault line_fault = LineFault::none;
  bool help = false;
};

extern const char* const usage_text;

// False, and a line in `error`, when the arguments make no sense.
bool parse_options(int argc, const char* const* argv, Options* options, std::string* error);

}  // namespace assay::firmware::device::host
