#include "firmware/usb/dfu_text.h"

#include <fmt/core.h>

#include <array>

namespace assay::firmware {
namespace {

struct StatusText {
  std::string_view name;
  ErrorKind kind;
  std::string_view what;
  std::string_view hint;
};

constexpr std::string_view flash_hint =
    "try once more; when it fails again the board's flash chip is bad";
constexpr std::string_view reset_hint = "check the cable and the power supply, then start again";

constexpr std::string_view on_trial_hint =
    "its next start ends the trial, and it runs the image before: then try once more; to keep the "
    "image on trial, confirm it over the serial port by  assay fw flash  with the same image";

// By number.
constexpr std::array<StatusText, 16> statuses = {{
    {"OK", ErrorKind::protocol, "no error, though it refused", "update the device's boot loader"},
    {"errTARGET", ErrorKind::bad_file, "the image is for another device",
     "take the image that is for this board"},
    {"errFILE", ErrorKind::bad_file, "the image is not one that it takes",
     "check that the file is whole and for this board"},
    {"errWRITE", ErrorKind::io, "it cannot write its memory", flash_hint},
    {"errERASE", ErrorKind::io, "erasing its memory failed", flash_hint},
    {"errCHECK_ERASED", ErrorKind::io, "its memory is not empty after an erase", flash_hint},
    {"errPROG", ErrorKind::io, "programming its memory failed", flash_hint},
    {"errVERIFY", ErrorKind::io, "what it wrote is not what was meant to be there",
     "check the file, then try once more; when it fails again the board's flash chip is bad"},
    {"errADDRESS", ErrorKind::bad_file, "the image goes beyond its memory",
     "check that the image is for this board"},
    {"errNOTDONE", ErrorKind::protocol, "it waits for more than the image has",
     "check that the file is whole"},
    {"errFIRMWARE", ErrorKind::protocol, "its firmware is damaged and cannot run",
     "write a firmware image to it"},
    {"errVENDOR", ErrorKind::protocol, "it refused for a reason of its own",
     "see the reason that it gives, or the board's manual"},
    {"errUSBR", ErrorKind::protocol, "the bus was reset in the middle", reset_hint},
    {"errPOR", ErrorKind::protocol, "its power went in the middle", reset_hint},
    {"errUNKNOWN", ErrorKind::protocol, "it does not know what went wrong",
     "power-cycle the board and try once more"},
    {"errSTALLEDPKT", ErrorKind::protocol, "it did not expect this request",
     "power-cycle the board and try once more; let no other program talk to it meanwhile"},
}};

constexpr std::array<std::string_view, 11> states = {
    "appIDLE",        "appDETACH",        "dfuIDLE",     "dfuDNLOAD-SYNC",         "dfuDNBUSY",
    "dfuDNLOAD-IDLE", "dfuMANIFEST-SYNC", "dfuMANIFEST", "dfuMANIFEST-WAIT-RESET", "dfuUPLOAD-IDLE",
    "dfuERROR"};

const StatusText& text_of(DfuStatus status) {
  const auto number = static_cast<std::size_t>(status);
  return statuses[number < statuses.size() ? number : static_cast<std::size_t>(DfuStatus::unknown)];
}

}  // namespace

std::string_view name_of(DfuState state) {
  const auto number = static_cast<std::size_t>(state);
  return number < states.size() ? states[number] : "no state of DFU";
}

std::string_view name_of(DfuStatus status) {
  return text_of(status).name;
}

std::unexpected<Error> status_failure(DfuStatus status, const std::string& doing,
                                      const std::string& reason, const std::string& name) {
  StatusText text = text_of(status);
  if (status == DfuStatus::vendor && reason == device::dfu_reason_on_trial) {
    text.kind = ErrorKind::unavailable;
    text.hint = on_trial_hint;
  }
  std::string what = fmt::format("{}: {} ({})", doing, text.what, text.name);
  if (!reason.empty()) what += fmt::format(", \"{}\"", reason);
  return fail(text.kind, what, name, std::string(text.hint));
}

}  // namespace assay::firmware
