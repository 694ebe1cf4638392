// Which serial ports this machine has, and which of them a board may be behind.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace assay::firmware {

struct PortInfo {
  std::string path;         // /dev/ttyUSB0
  std::string description;  // printable; may be empty
  std::string usb_id;       // "1a86:7523", lower case; empty when it is no USB port
  std::string usb_serial;   // printable; may be empty
};

// The ports that libserialport lists, by path. Pseudo-terminals are not among them.
Result<std::vector<PortInfo>> list_ports();

// Those of `ports` whose usb_id is one of `matches` ("1a86:7523", in any case).
// ErrorKind::usage when one of `matches` is no such id.
Result<std::vector<PortInfo>> select_ports(const std::vector<PortInfo>& ports,
                                           const std::vector<std::string>& matches);

// select_ports() of list_ports(): none, one, or several to ask the user about.
Result<std::vector<PortInfo>> find_ports(const std::vector<std::string>& matches);

}  // namespace assay::firmware
