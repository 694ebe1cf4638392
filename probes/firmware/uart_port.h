// What the firmware probes share: which port the board is at, and what it means when nobody
// answers there.
#pragma once

#include <string>

#include "probes/framework/context.h"

namespace assay::probes {

// The port given, else the only one whose USB id the profile names. The profile has a UART. Errors:
// unavailable, naming the ports that it could be.
Result<std::string> choose_port(const Bench& bench);

// The finding for a board that cannot be talked to: UART_NO_ANSWER or UART_GARBLED. False when the
// error is no such thing, and stands as "could not test": also of a firmware that was understood,
// and does not know what it was asked.
bool report_no_answer(reports::StepRecorder& recorder, const Error& error, const std::string& port);

}  // namespace assay::probes
