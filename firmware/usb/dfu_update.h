// A whole firmware update over USB DFU: finds the device, asks it into DFU mode, writes the image,
// resets it, and waits until it is back.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "firmware/usb/dfu_client.h"
#include "firmware/usb/usb_list.h"

namespace assay::firmware {

struct DfuSelector {
  std::vector<std::string> ids;  // "1209:a551", in any case: one of them; empty: any
  std::string serial;            // empty: any
  int alternate = 0;             // the setting in DFU mode
};

// The one of `devices` that speaks DFU and is meant.
// ErrorKind::unavailable when there is none, ErrorKind::usage when there are several, or one of
// selector.ids is no id.
Result<UsbDevice> select_dfu_device(const std::vector<UsbDevice>& devices,
                                    const DfuSelector& selector);

enum class DfuPhase { detach, write, restart };

struct DfuUpdateOptions {
  DfuOptions transfer;
  // How long the device may take to come back, each time that it leaves the bus.
  std::int64_t return_timeout_ns = 15 * ns_per_s;
  std::function<void(DfuPhase)> on_phase;
};

struct DfuUpdated {
  UsbDevice before;  // in DFU mode
  UsbDevice after;
  DfuEnd end;
};

// Writes `image`, which has no DFU suffix. Which firmware runs behind it is for the caller to ask.
// Errors beside those of select_dfu_device(), open_dfu() and DfuClient:
//   timeout  it did not come back, or came back in DFU mode: the new firmware did not start
Result<DfuUpdated> update_over_dfu(const DfuSelector& selector, std::span<const std::uint8_t> image,
                                   const DfuUpdateOptions& options = {});

// Reads the firmware of a device, which is asked into DFU mode, and lets it run again.
Result<std::vector<std::uint8_t>> read_over_dfu(const DfuSelector& selector, std::size_t most_bytes,
                                                const DfuUpdateOptions& options = {});

}  // namespace assay::firmware
