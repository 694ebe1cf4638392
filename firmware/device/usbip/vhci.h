// Plugs a board that is served over USB/IP into this machine's kernel (vhci_hcd). Needs root.
#pragma once

#include <string>

namespace assay::firmware::device::usbip {

// Our end of the connection; closing it unplugs the board. `folder` is
// /sys/devices/platform/vhci_hcd.0, `port` one of its. Waits for a port that is not yet free from
// the last time. -1, and a line in `error`, when that cannot be.
int plug_in(const std::string& folder, int port, std::string* error);

}  // namespace assay::firmware::device::usbip
