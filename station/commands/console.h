// A terminal on a serial port.
#pragma once

#include "base/result.h"
#include "firmware/serial/transport.h"

namespace assay::station {

// Standard input to the port and back, until Ctrl-] on a terminal, or the end of input and half a
// second of silence on a pipe, or the port's end. The terminal is left as it was. Returns the exit
// code; 130 when `signal_fd` (take_signals()) has one.
Result<int> run_console(firmware::Transport& transport, int signal_fd);

}  // namespace assay::station
