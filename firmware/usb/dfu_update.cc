#include "firmware/usb/dfu_update.h"

#include <fmt/core.h>
#include <poll.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/usb_id.h"
#include "base/utf8.h"
#include "firmware/usb/usb_dfu.h"

namespace assay::firmware {
namespace {

constexpr int list_interval_ms = 100;
constexpr std::int64_t leave_timeout_ns = 3 * ns_per_s;

bool speaks_dfu(const UsbDevice& device) {
  return device.role == UsbRole::dfu || device.role == UsbRole::dfu_runtime;
}

// With what picks it, when it can be picked.
std::string describe(const UsbDevice& device) {
  std::string text = device.name();
  if (!device.serial.empty()) text += " serial " + device.serial;
  if (!speaks_dfu(device)) return text;
  text += device.role == UsbRole::dfu ? " in DFU mode" : "";
  return text + (device.serial.empty() ? " (--device " + device.id() + ")"
                                       : " (--usb-serial " + device.serial + ")");
}

std::unexpected<Error> no_id(const std::string& text) {
  return fail(ErrorKind::usage, "not a USB id", to_printable(text),
              "write vendor:product in hexadecimal, as in 1209:a551");
}

// The same board, whatever it calls itself now: a boot loader has another id than the firmware, and
// perhaps no serial number.
bool same_board(const UsbDevice& a, const UsbDevice& b) {
  return a.port == b.port || (!a.serial.empty() && a.serial == b.serial);
}

// Looks until `board` is there and `there` says yes.
Result<UsbDevice> wait_for_board(const UsbDevice& board, const DfuUpdateOptions& options,
                                 const std::function<bool(const UsbDevice&)>& there,
                                 const std::string& missing, const std::string& hint) {
  const std::int64_t deadline = monotonic_ns() + options.return_timeout_ns;
  for (;;) {
    const auto devices = list_usb_devices();
    if (!devices) return std::unexpected(devices.error());
    for (const UsbDevice& device : *devices) {
      if (same_board(board, device) && there(device)) return device;
    }
    if (options.transfer.cancel != nullptr && options.transfer.cancel->cancelled()) {
      return fail(ErrorKind::cancelled, "cancelled while waiting for the board", board.name());
    }
    if (monotonic_ns() >= deadline) {
      return fail(ErrorKind::timeout,
                  fmt::format("{} in {} s", missing, options.return_timeout_ns / ns_per_s),
                  board.name(), hint);
    }
    ::poll(nullptr, 0, list_interval_ms);
  }
}

void tell(const DfuUpdateOptions& options, DfuPhase phase) {
  if (options.on_phase) options.on_phase(phase);
}

Error with_hint(Error error, const std::string& more) {
  error.hint += (error.hint.empty() ? "" : "; ") + more;
  return error;
}

std::unexpected<Error> left_in_dfu_mode(const Error& error) {
  return std::unexpected(
      with_hint(error,
                "the board is left in DFU mode: it takes an image there, or unplug it and plug it "
                "in again, and it runs the firmware that it has"));
}

Result<UsbDevice> find_board(const DfuSelector& selector) {
  const auto devices = list_usb_devices();
  if (!devices) return std::unexpected(devices.error());
  return select_dfu_device(*devices, selector);
}

// A reset of the bus leads a device with sound firmware out of DFU mode (DFU 1.1, A.2.3). Not for
// the cancel token, which is what may have led here; and one that stays is not waited for as long
// as one that must come.
std::unexpected<Error> give_up(const Error& error, const UsbDevice& board, OpenDfu opened,
                               const DfuUpdateOptions& options) {
  if (error.kind == ErrorKind::vanished) return std::unexpected(error);
  DfuClient client(*opened.control, opened.functional);
  (void)client.make_idle({.busy_timeout_ns = options.transfer.busy_timeout_ns});
  const auto reset = opened.control->reset();
  opened.control.reset();
  if (!reset) return left_in_dfu_mode(error);
  DfuUpdateOptions leaving;
  leaving.return_timeout_ns = std::min(options.return_timeout_ns, leave_timeout_ns);
  const auto back = wait_for_board(
      board, leaving, [](const UsbDevice& now) { return now.role != UsbRole::dfu; }, "", "");
  if (!back) return left_in_dfu_mode(error);
  return std::unexpected(with_hint(error, "the board was reset and runs the firmware that it has"));
}

Result<UsbDevice> into_dfu_mode(const UsbDevice& board, const DfuUpdateOptions& options) {
  if (board.role == UsbRole::dfu) return board;
  tell(options, DfuPhase::detach);
  {
    auto opened = open_dfu(board);
    if (!opened) return std::unexpected(opened.error());
    DfuClient client(*opened->control, opened->functional);
    if (auto detached = client.detach(); !detached) return std::unexpected(detached.error());
  }
  const auto in_dfu_mode = wait_for_board(
      board, options, [](const UsbDevice& now) { return now.role == UsbRole::dfu; },
      "was asked into DFU mode and did not come back in it",
      "hold the board's boot button while it is plugged in, when it has one");
  if (in_dfu_mode || in_dfu_mode.error().kind != ErrorKind::cancelled) return in_dfu_mode;
  // It is on its way there, and shall not stay.
  DfuUpdateOptions arriving;
  arriving.return_timeout_ns = std::min(options.return_timeout_ns, leave_timeout_ns);
  const auto there = wait_for_board(
      board, arriving, [](const UsbDevice& now) { return now.role == UsbRole::dfu; }, "", "");
  if (!there) return left_in_dfu_mode(in_dfu_mode.error());
  auto opened = open_dfu(*there);
  if (!opened) return left_in_dfu_mode(in_dfu_mode.error());
  return give_up(in_dfu_mode.error(), *there, std::move(*opened), options);
}

// Before anything is written. What the file names may be the board as it runs, or in DFU mode.
Result<> check_suffix(const DfuUpdateOptions& options, const UsbDevice& found,
                      const UsbDevice& in_dfu_mode) {
  if (!options.suffix) return {};
  const std::string name = in_dfu_mode.name();
  if (check_dfu_suffix(*options.suffix, found.vendor, found.product, name)) return {};
  return check_dfu_suffix(*options.suffix, in_dfu_mode.vendor, in_dfu_mode.product, name);
}

Result<UsbDevice> restart(const UsbDevice& board, const DfuUpdateOptions& options) {
  return wait_for_board(
      board, options, [](const UsbDevice& now) { return now.role != UsbRole::dfu; },
      "did not come back with its firmware running",
      "unplug it and plug it in again, then ask for its version");
}

}  // namespace

Result<UsbDevice> select_dfu_device(const std::vector<UsbDevice>& devices,
                                    const DfuSelector& selector) {
  std::vector<std::string> ids;
  for (const std::string& id : selector.ids) ids.push_back(lower_case(id));
  const std::string named = lower_case(selector.id);
  for (const std::string& id : ids) {
    if (!is_usb_id(id)) return no_id(id);
  }
  if (!named.empty() && !is_usb_id(named)) return no_id(named);
  const auto known = [&ids](const UsbDevice& device) {
    return std::find(ids.begin(), ids.end(), device.id()) != ids.end();
  };
  const auto meant = [&](const UsbDevice& device) {
    const bool is_named = named.empty() || device.id() == named;
    if (!selector.serial.empty()) {
      return device.serial == selector.serial && (is_named || device.role == UsbRole::dfu);
    }
    return named.empty() ? ids.empty() || known(device) : is_named;
  };
  std::vector<UsbDevice> found;
  std::copy_if(devices.begin(), devices.end(), std::back_inserter(found),
               [&](const UsbDevice& device) { return speaks_dfu(device) && meant(device); });
  if (found.empty() && !named.empty() && selector.serial.empty()) {
    std::copy_if(
        devices.begin(), devices.end(), std::back_inserter(found),
        [&](const UsbDevice& device) { return device.role == UsbRole::dfu && known(device); });
  }
  if (found.size() == 1) return found.front();
  std::string there;
  for (const UsbDevice& device : found.empty() ? devices : found) {
    if (device.role != UsbRole::hub) there += (there.empty() ? "" : ", ") + describe(device);
  }
  if (found.empty()) {
    return fail(ErrorKind::unavailable, "no such device that speaks DFU is plugged in", "USB",
                there.empty() ? "check the cable and the board's power"
                              : "check the cable and the board's power; there are: " + there);
  }
  return fail(ErrorKind::usage, fmt::format("{} devices speak DFU: {}", found.size(), there), "USB",
              "name the one that is meant");
}

Result<DfuUpdated> update_over_dfu(const DfuSelector& selector, std::span<const std::uint8_t> image,
                                   const DfuUpdateOptions& options) {
  const auto found = find_board(selector);
  if (!found) return std::unexpected(found.error());
  const auto board = into_dfu_mode(*found, options);
  if (!board) return std::unexpected(board.error());
  DfuEnd ended{};
  {
    auto opened = open_dfu(*board, selector.alternate);
    if (!opened) return left_in_dfu_mode(opened.error());
    if (auto fits = check_suffix(options, *found, *board); !fits) {
      return give_up(fits.error(), *board, std::move(*opened), options);
    }
    DfuClient client(*opened->control, opened->functional);
    tell(options, DfuPhase::write);
    const auto end = client.download(image, options.transfer);
    if (!end) return give_up(end.error(), *board, std::move(*opened), options);
    ended = *end;
    tell(options, DfuPhase::restart);
    if (ended != DfuEnd::vanished) {
      if (auto reset = opened->control->reset(); !reset) return std::unexpected(reset.error());
    }
  }
  const auto after = restart(*board, options);
  if (!after) return std::unexpected(after.error());
  return DfuUpdated{*board, *after, ended};
}

Result<std::vector<std::uint8_t>> read_over_dfu(const DfuSelector& selector, std::size_t most_bytes,
                                                const DfuUpdateOptions& options) {
  const auto found = find_board(selector);
  if (!found) return std::unexpected(found.error());
  const auto board = into_dfu_mode(*found, options);
  if (!board) return std::unexpected(board.error());
  std::vector<std::uint8_t> image;
  {
    auto opened = open_dfu(*board, selector.alternate);
    if (!opened) return left_in_dfu_mode(opened.error());
    DfuClient client(*opened->control, opened->functional);
    auto read = client.upload(most_bytes, options.transfer);
    if (!read) return give_up(read.error(), *board, std::move(*opened), options);
    image = std::move(*read);
    tell(options, DfuPhase::restart);
    if (auto reset = opened->control->reset(); !reset) return std::unexpected(reset.error());
  }
  if (const auto after = restart(*board, options); !after) return std::unexpected(after.error());
  return image;
}

}  // namespace assay::firmware
