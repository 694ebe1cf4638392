#include "probes/firmware/firmware_query.h"

#include <fmt/core.h>

#include "firmware/serial/at_client.h"
#include "firmware/serial/port_list.h"
#include "firmware/serial/transport.h"

namespace assay::probes {
namespace {

using reports::Comparison;

// The port given, else the only one whose USB id the profile names.
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

void report_no_version(reports::StepRecorder& recorder, const Error& error,
                       const std::string& port) {
  const bool silent = error.kind == ErrorKind::timeout;
  recorder.finding({.code = silent ? "UART_NO_ANSWER" : "UART_GARBLED",
                    .message = silent ? "The firmware does not answer on " + port + "."
                                      : "The firmware's answer on " + port + " is not understood.",
                    .where = port,
                    .evidence = {error.what}});
  recorder.headline(silent ? "no answer" : "garbled");
}

Result<> run_firmware_query(StepContext& context) {
  const Bench& bench = context.bench;
  reports::StepRecorder& recorder = context.recorder;
  if (!bench.board.uart) {
    recorder.skip("the board's profile names no UART");
    return {};
  }
  const auto port = choose_port(bench);
  if (!port) return std::unexpected(port.error());
  auto transport = firmware::open_transport(*port, bench.board.uart->baud.front());
  if (!transport) return std::unexpected(transport.error());

  recorder.progress(0, 0, "asking " + *port);
  firmware::AtOptions options;
  options.cancel = &context.cancel;
  const auto version = firmware::query_version_at_bauds(**transport, bench.board.uart->baud,
                                                        bench.board.uart->query, options);
  if (!version) {
    const ErrorKind kind = version.error().kind;
    if (kind != ErrorKind::timeout && kind != ErrorKind::protocol) {
      return std::unexpected(version.error());
    }
    report_no_version(recorder, version.error(), *port);
    return {};
  }
  recorder.headline(version->text);
  recorder.log(reports::Severity::info,
               fmt::format("{} answers at {} baud: {}", *port, version->baud, version->text));
  std::vector<reports::Validator> limits;
  const auto& firmware = bench.board.firmware;
  if (firmware) {
    limits.push_back(
        reports::make_validator(Comparison::greater_or_equal, firmware->minimum.text(), "", true));
  }
  recorder.measure("version", version->text, "", std::move(limits));
  if (firmware && version->version < firmware->minimum) {
    recorder.finding(
        {.code = "FIRMWARE_OUTDATED",
         .message = fmt::format("The firmware is {}; the board needs {} or later.", version->text,
                                firmware->minimum.text()),
         .where = *port,
         .evidence = {fmt::format("{}: FW_VER:{}", bench.board.uart->query, version->text)},
         .remedy = {"flash " + firmware->image + ", then run the plan again"}});
  }
  return {};
}

}  // namespace

Probe firmware_query_probe() {
  return {.name = "firmware.query",
          .summary = "the firmware version that the board answers over its UART",
          .parameters = {},
          .measurements = {{.name = "version",
                            .unit = "",
                            .help = "held against the profile's minimum",
                            .semantic_version = true}},
          .preflight = nullptr,
          .run = run_firmware_query,
          .monitor = nullptr};
}

}  // namespace assay::probes
