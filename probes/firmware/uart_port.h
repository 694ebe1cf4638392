// What the firmware probes share: which port the board is at, whether it is the right board, and
// what it means when nobody answers there.
#pragma once

#include <string>

#include "firmware/serial/at_client.h"
#include "probes/framework/context.h"

namespace assay::probes {

// The port given, else the only one whose USB id the profile names. The profile has a UART. Errors:
// unavailable, naming the ports that it could be.
Result<std::string> choose_port(const Bench& bench);

struct BoardSerial {
  std::string text;        // empty: this firmware does not tell it, which is no fault
  bool is_scanned = true;  // false: it is another's, and the finding SERIAL_MISMATCH was made
};

// AT+SN?, held against the serial number that was scanned. Errors: those of
// firmware::query_serial().
Result<BoardSerial> check_serial(StepContext& context, firmware::AtClient& client,
                                 const firmware::AtOptions& options);

// The finding for a board that cannot be talked to: UART_NO_ANSWER or UART_GARBLED. False when the
// error is no such thing, and stands as "could not test": also of a firmware that was understood,
// and does not know what it was asked.
bool report_no_answer(reports::StepRecorder& recorder, const Error& error, const std::string& port);

}  // namespace assay::probes
