#include "probes/firmware/firmware_query.h"

#include <fmt/core.h>

#include "firmware/serial/at_client.h"
#include "firmware/serial/transport.h"
#include "probes/firmware/uart_port.h"

namespace assay::probes {
namespace {

using reports::Comparison;

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
  const auto version = firmware::query_version_at_bauds(**transport, bench.board.uart->rates(),
                                                        bench.board.uart->query, options);
  if (!version) {
    if (report_no_answer(recorder, version.error(), *port)) return {};
    return std::unexpected(version.error());
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
         .remedy = {"assay fw flash " + firmware->image + ", then run the plan again"}});
  }
  firmware::AtClient client(**transport);
  const auto serial = check_serial(context, client, options);
  if (!serial) return std::unexpected(serial.error());
  if (!serial->text.empty()) recorder.measure("serial", serial->text, "");
  return {};
}

}  // namespace

Probe firmware_query_probe() {
  return {.name = "firmware.query",
          .summary = "the firmware version and serial number that the board answers over its UART",
          .parameters = {},
          .measurements = {{.name = "version",
                            .unit = "",
                            .help = "held against the profile's minimum",
                            .semantic_version = true},
                           {.name = "serial", .unit = "", .help = "as the board gives it"}},
          .preflight = nullptr,
          .run = run_firmware_query,
          .monitor = nullptr};
}

}  // namespace assay::probes
