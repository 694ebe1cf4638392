#include "probes/firmware/uart_port.h"

#include <fmt/core.h>

#include "firmware/serial/port_list.h"
#include "firmware/update/board_client.h"

namespace assay::probes {

Result<std::string> choose_port(const Bench& bench) {
  if (!bench.uart_port.empty()) return bench.uart_port;
  const auto found = firmware::find_ports(bench.board.uart->usb_ids);
  if (!found) return std::unexpected(found.error());
  if (found->size() == 1) return found->front().path;
  std::string paths;
  for (const auto& port : *found) paths += (paths.empty() ? "" : ", ") + port.path;
  return fail(
      ErrorKind::unavailable,
      paths.empty() ? "no serial port of this machine has the board's USB id"
                    : "several serial ports could be the board's: " + paths,
      {},
      paths.empty() ? "plug the adapter in, or name the port with --port" : "name one with --port");
}

Result<BoardSerial> check_serial(StepContext& context, firmware::AtClient& client,
                                 const firmware::AtOptions& options) {
  const auto serial = firmware::query_serial(client, options);
  if (!serial) {
    const ErrorKind kind = serial.error().kind;
    if (kind != ErrorKind::unavailable && kind != ErrorKind::protocol) {
      return std::unexpected(serial.error());
    }
    context.recorder.log(reports::Severity::info,
                         "the board's serial number is not checked: " + serial.error().what);
    return BoardSerial{};
  }
  BoardSerial found{*serial, context.serial.empty() || *serial == context.serial};
  if (!found.is_scanned) {
    context.recorder.finding(
        {.code = "SERIAL_MISMATCH",
         .message =
             fmt::format("The board says that it is {}; {} was scanned.", *serial, context.serial),
         .where = client.port(),
         .evidence = {"AT+SN?: SN:" + *serial}});
  }
  return found;
}

bool report_no_answer(reports::StepRecorder& recorder, const Error& error,
                      const std::string& port) {
  if (error.kind != ErrorKind::timeout && error.kind != ErrorKind::protocol) return false;
  const bool silent = error.kind == ErrorKind::timeout;
  recorder.finding({.code = silent ? "UART_NO_ANSWER" : "UART_GARBLED",
                    .message = silent ? "The firmware does not answer on " + port + "."
                                      : "The firmware's answer on " + port + " is not understood.",
                    .where = port,
                    .evidence = {error.what}});
  recorder.headline(silent ? "no answer" : "garbled");
  return true;
}

}  // namespace assay::probes
