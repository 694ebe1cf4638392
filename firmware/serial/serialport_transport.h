// The backend for real ports, on libserialport: what it knows of rates and of the many drivers.
#pragma once

#include <memory>
#include <string>

#include "firmware/serial/transport.h"

namespace assay::firmware {

// `device` is what the kernel calls the port (/dev/ttyUSB0), `path` what the user called it
// (perhaps a link in /dev/serial/by-id). Errors as open_transport() has them.
Result<std::unique_ptr<Transport>> open_serialport_transport(const std::string& path,
                                                             const std::string& device, int baud);

}  // namespace assay::firmware
