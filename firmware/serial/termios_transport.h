// The backend for pseudo-terminals, which libserialport 0.1.1 cannot open: it wants an entry in
// /sys/class/tty and modem control lines.
#pragma once

#include <memory>
#include <string>

#include "firmware/serial/transport.h"

namespace assay::firmware {

// Errors as open_transport() has them. The settings found are put back when it is closed.
Result<std::unique_ptr<Transport>> open_termios_transport(const std::string& path, int baud);

}  // namespace assay::firmware
