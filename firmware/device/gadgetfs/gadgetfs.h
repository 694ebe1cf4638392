// A board on a device controller of this machine's kernel, by gadgetfs (linux/usb/gadgetfs.h),
// which takes the whole configuration with DFU's functional descriptor. functionfs does not:
// Linux 6.1 knows descriptors of class type 0x21 of HID and CCID alone.
#pragma once

#include <cstdint>
#include <string>

#include "firmware/device/gadget/board.h"

namespace assay::firmware::device::gadgetfs {

// The kernel stalls a control transfer with more data (RBUF_SIZE in its source, since 5.16).
inline constexpr std::uint16_t most_transfer_bytes = 256;

// Connects the board, as it is now, to the controller whose file is in `folder`, a mounted
// gadgetfs. A descriptor to close; -1 with `error` when it cannot.
int plug_in(const std::string& folder, const gadget::Board& board, std::string* error);

// Until the board is off the bus; closing `controller` takes it off.
gadget::End serve(gadget::Board& board, int controller);

}  // namespace assay::firmware::device::gadgetfs
