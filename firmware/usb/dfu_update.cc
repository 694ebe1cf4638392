#include "firmware/usb/dfu_update.h"

#include <fmt/core.h>
#include <poll.h>

#include <algorithm>
#include <optional>

#include "base/usb_id.h"
#include "base/utf8.h"
#include "firmware/usb/usb_dfu.h"

namespace assay::firmware {
namespace {

constexpr int list_interval_ms = 100;

bool speaks_dfu(const UsbDevice& device) {
  return device.role == UsbRole::dfu || device.role == UsbRole::dfu_runtime;
}

std::string describe(const UsbDevice& device) {
  return device.name() + (device.serial.empty() ? "" : " serial " + device.serial);
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
                  describe(board), hint);
    }
    ::poll(nullptr, 0, list_interval_ms);
  }
}

void tell(const DfuUpdateOptions& options, DfuPhase phase) {
  if (options.on_phase) options.on_phase(phase);
}

Result<UsbDevice> find_in_dfu_mode(const DfuSelector& selector, const DfuUpdateOptions& options) {
  const auto devices = list_usb_devices();
  if (!devices) return std::unexpected(devices.error());
  const auto device = select_dfu_device(*devices, selector);
  if (!device || device->role == UsbRole::dfu) return device;
  tell(options, DfuPhase::detach);
  {
    auto opened = open_dfu(*device);
    if (!opened) return std::unexpected(opened.error());
    DfuClient client(*opened->control, opened->functional);
    if (auto detached = client.detach(); !detached) return std::unexpected(detached.error());
  }
  return wait_for_board(
      *device, options, [](const UsbDevice& now) { return now.role == UsbRole::dfu; },
      "was asked into DFU mode and did not come back in it",
      "hold the board's boot button while it is plugged in, when it has one");
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
  for (const std::string& id : selector.ids) {
    ids.push_back(lower_case(id));
    if (!is_usb_id(ids.back())) {
      return fail(ErrorKind::usage, "not a USB id", to_printable(id),
                  "write vendor:product in hexadecimal, as in 1209:a551");
    }
  }
  std::vector<UsbDevice> found;
  std::string seen;
  for (const UsbDevice& device : devices) {
    if (device.role == UsbRole::hub) continue;
    seen += (seen.empty() ? "" : ", ") + describe(device);
    if (!speaks_dfu(device)) continue;
    if (!ids.empty() && std::find(ids.begin(), ids.end(), device.id()) == ids.end()) continue;
    if (!selector.serial.empty() && device.serial != selector.serial) continue;
    found.push_back(device);
  }
  if (found.size() == 1) return found.front();
  if (found.empty()) {
    return fail(ErrorKind::unavailable, "no such device that speaks DFU is plugged in", "USB",
                seen.empty() ? "check the cable and the board's power"
                             : "check the cable and the board's power; there are: " + seen);
  }
  std::string several;
  for (const UsbDevice& device : found) {
    several += (several.empty() ? "" : ", ") + describe(device);
  }
  return fail(ErrorKind::usage, fmt::format("{} devices speak DFU: {}", found.size(), several),
              "USB", "name the one that is meant by its serial number");
}

Result<DfuUpdated> update_over_dfu(const DfuSelector& selector, std::span<const std::uint8_t> image,
                                   const DfuUpdateOptions& options) {
  const auto board = find_in_dfu_mode(selector, options);
  if (!board) return std::unexpected(board.error());
  DfuEnd ended{};
  {
    auto opened = open_dfu(*board, selector.alternate);
    if (!opened) return std::unexpected(opened.error());
    DfuClient client(*opened->control, opened->functional);
    tell(options, DfuPhase::write);
    const auto end = client.download(image, options.transfer);
    if (!end) return std::unexpected(end.error());
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
  const auto board = find_in_dfu_mode(selector, options);
  if (!board) return std::unexpected(board.error());
  std::vector<std::uint8_t> image;
  {
    auto opened = open_dfu(*board, selector.alternate);
    if (!opened) return std::unexpected(opened.error());
    DfuClient client(*opened->control, opened->functional);
    auto read = client.upload(most_bytes, options.transfer);
    if (!read) return std::unexpected(read.error());
    image = std::move(*read);
    tell(options, DfuPhase::restart);
    if (auto reset = opened->control->reset(); !reset) return std::unexpected(reset.error());
  }
  if (const auto after = restart(*board, options); !after) return std::unexpected(after.error());
  return image;
}

}  // namespace assay::firmware
