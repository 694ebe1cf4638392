#include "firmware/device/host/options.h"

#include <charconv>
#include <string_view>

namespace assay::firmware::device::host {
namespace {

// The texts stand in answer lines: a line end inside would forge one.
bool is_plain(std::string_view text) {
  if (text.empty() || text.size() > 64) return false;
  for (const char c : text) {
    if (c <= ' ' || c > '~') return false;
  }
  return true;
}

bool set(std::string_view name, std::string_view value, Options* options, std::string* error) {
  if (name == "--line-fault") {
    if (value == "silent") {
      options->line_fault = LineFault::silent;
    } else if (value == "garbage") {
      options->line_fault = LineFault::garbage;
    } else {
      *error = "--line-fault is silent or garbage";
      return false;
    }
    return true;
  }
  if (name == "--baud" || name == "--cut-power-at") {
    std::uint32_t& number = name == "--baud" ? options->baud : options->cut_power_at;
    const auto [end, failure] = std::from_chars(value.data(), value.data() + value.size(), number);
    if (failure == std::errc{} && end == value.data() + value.size() && number > 0) return true;
    *error = std::string(name) + " takes a whole number above 0";
    return false;
  }
  if (name == "--flash") {
    options->flash = value;
    return true;
  }
  if (!is_plain(value)) {
    *error = std::string(name) + " takes 1 to 64 printable ASCII characters without spaces";
    return false;
  }
  (name == "--version" ? options->version
   : name == "--board" ? options->board
                       : options->serial) = value;
  return true;
}

}  // namespace

const char* const usage_text =
    "usage: assay-npu-firmware [--version V] [--serial S] [--board B] [--flash FILE]\n"
    "                          [--baud B] [--line-fault silent|garbage] [--cut-power-at N]\n"
    "\n"
    "The reference NPU firmware as a process: its UART is standard input and output.\n"
    "\n"
    "  --version V        the version that AT+NPUCFG? reports while no slot holds an image "
    "(2.3.1)\n"
    "  --serial S         the serial number that AT+SN? reports (M6-0000-000000)\n"
    "  --board B          the board whose images are taken (reference)\n"
    "  --flash FILE       the flash chip; made when it is not there; without it updates are lost\n"
    "  --baud B           the UART's rate after a boot; a terminal at another one hears garbage "
    "(any)\n"
    "  --cut-power-at N   the power fails once, when N bytes have come in; needs --flash\n"
    "  --line-fault KIND  silent: nothing that is sent arrives; garbage: every byte sent is "
    "damaged\n"
    "  --help             this text\n"
    "\n"
    "Ends when standard input ends or hangs up, or when its parent dies.\n";

bool parse_options(int argc, const char* const* argv, Options* options, std::string* error) {
  for (int i = 1; i < argc; ++i) {
    const std::string_view name = argv[i];
    if (name == "--help") {
      options->help = true;
      continue;
    }
    if (name != "--version" && name != "--serial" && name != "--board" && name != "--flash" &&
        name != "--baud" && name != "--cut-power-at" && name != "--line-fault") {
      *error = "unknown argument " + std::string(name);
      return false;
    }
    if (i + 1 == argc) {
      *error = std::string(name) + " needs a value";
      return false;
    }
    if (!set(name, argv[++i], options, error)) return false;
  }
  if (options->cut_power_at != 0 && options->flash.empty()) {
    *error = "--cut-power-at needs --flash: nothing else outlives a power cut";
    return false;
  }
  return true;
}

}  // namespace assay::firmware::device::host
