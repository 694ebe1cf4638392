// A board behind USB/IP: a connected socket carries a host's requests, a kernel's vhci_hcd among
// them. Closing the socket pulls the board out.
#pragma once

#include "firmware/device/gadget/board.h"

namespace assay::firmware::device::usbip {

// Until the board is off the bus.
gadget::End serve(gadget::Board& board, int socket);

}  // namespace assay::firmware::device::usbip
