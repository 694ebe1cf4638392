// A whole firmware update over USB DFU: finds the device, asks it into DFU mode, writes the image,
// resets it, and waits until it is back. A device that does not take the image, or is not to be
// written after all, is reset too, and runs the firmware that it has.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "firmware/image/dfu_suffix.h"
#include "firmware/usb/dfu_client.h"
#include "firmware/usb/usb_list.h"

namespace assay::firmware {

// Ids are "1209:a551", in any case. In DFU mode a board may have another id than when it runs.
struct DfuSelector {
  std::vector<std::string> ids;  // those that the board is known to have; empty: not known
  std::string id;                // the one that a person names
  std::string serial;            // that a person names
  int alternate = 0;             // the setting in DFU mode
};

// The one of `devices` that speaks DFU and is meant. With `serial` the one that has it; with `id`
// too it runs with that id or is in DFU mode. With `id` alone the one that has it, else the only
// one in DFU mode that has one of `ids`. With neither the one that has one of `ids`.
// ErrorKind::unavailable when there is none: what is there, and which option picks it.
// ErrorKind::usage when there are several, or an id is none.
Result<UsbDevice> select_dfu_device(const std::vector<UsbDevice>& devices,
                                    const DfuSelector& selector);

enum class DfuPhase { detach, write, restart };

struct DfuUpdateOptions {
  DfuOptions transfer;
  // How long the device may take to come back, each time that it leaves the bus.
  std::int64_t return_timeout_ns = 15 * ns_per_s;
  // Of the file that the image came in: it is for the device's id when it runs, or in DFU mode.
  std::optional<DfuSuffix> suffix;
  std::function<void(DfuPhase)> on_phase;
};

struct DfuUpdated {
  UsbDevice before;  // in DFU mode
  UsbDevice after;
  DfuEnd end;
};

// Writes `image`, which has no DFU suffix. Which firmware runs behind it is for the caller to ask.
// Errors beside those of select_dfu_device(), open_dfu() and DfuClient; the hint says whether the
// device is left in DFU mode:
//   bad_file  the suffix names another device; nothing was written
//   timeout   it did not come back, or came back in DFU mode: the new firmware did not start
Result<DfuUpdated> update_over_dfu(const DfuSelector& selector, std::span<const std::uint8_t> image,
                                   const DfuUpdateOptions& options = {});

// Reads the firmware of a device, which is asked into DFU mode, and lets it run again.
Result<std::vector<std::uint8_t>> read_over_dfu(const DfuSelector& selector, std::size_t most_bytes,
                                                const DfuUpdateOptions& options = {});

}  // namespace assay::firmware
