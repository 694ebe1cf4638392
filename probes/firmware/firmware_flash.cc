#include "probes/firmware/firmware_flash.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "base/clock.h"
#include "firmware/serial/transport.h"
#include "firmware/update/updater.h"
#include "probes/firmware/image_source.h"
#include "probes/firmware/trial_uart.h"
#include "probes/firmware/uart_port.h"

namespace assay::probes {
namespace {

using firmware::FirmwareImage;
using firmware::UpdatePhase;

// All that can be said before the board is asked.
Result<FirmwareImage> load_image(const Bench& bench, const Parameters& parameters) {
  const auto path = find_image(bench, parameters);
  if (!path) return std::unexpected(path.error());
  auto image = firmware::read_image(*path);
  if (!image) return image;
  if (auto fits = firmware::check_image(*image, image_policy(bench)); !fits) {
    fits.error().where = *path;
    return std::unexpected(fits.error());
  }
  return image;
}

Result<> preflight_firmware_flash(const Bench& bench, const Parameters& parameters) {
  const auto image = load_image(bench, parameters);
  return image ? Result<>() : std::unexpected(image.error());
}

firmware::UpdateProtocol protocol_of(const Parameters& parameters) {
  return parameters.text("protocol") == "smp" ? firmware::UpdateProtocol::smp
                                              : firmware::UpdateProtocol::ymodem;
}

Result<> check_firmware_flash(const Parameters& parameters) {
  const std::string protocol = parameters.text("protocol", "ymodem");
  if (protocol == "ymodem" || protocol == "smp") return {};
  return fail(ErrorKind::usage, "expected ymodem or smp", "protocol");
}

firmware::UpdateOptions make_options(StepContext& context) {
  const BoardProfile& board = context.bench.board;
  firmware::UpdateOptions options;
  options.query = board.uart->query;
  options.bauds = board.uart->rates();
  options.transfer_baud = board.uart->transfer_baud;
  options.image = image_policy(context.bench);
  options.protocol = protocol_of(context.parameters);
  options.board.allow_downgrade = context.parameters.flag("allow_downgrade");
  if (board.thermal) {
    options.board.temperature_limit_mc = static_cast<std::int32_t>(board.thermal->limit_mc);
  }
  options.cancel = &context.cancel;
  options.on_note = [&recorder = context.recorder](const std::string& note) {
    recorder.log(reports::Severity::warning, note);
  };
  return options;
}

void report_outcome(StepContext& context, const firmware::UpdateOutcome& outcome) {
  reports::StepRecorder& recorder = context.recorder;
  recorder.headline(outcome.same_version ? outcome.to + " already"
                                         : outcome.from + " -> " + outcome.to);
  recorder.log(reports::Severity::info,
               outcome.same_version
                   ? "the board runs " + outcome.to + " already: nothing was done"
                   : "the board ran " + outcome.from + " and runs " + outcome.to + ", confirmed");
  measure_versions(context, outcome.from, outcome.to);
  recorder.measure("interruptions", std::int64_t{outcome.interruptions}, "1");
  if (outcome.transfer_ns == 0) return;
  recorder.measure("bytes", static_cast<std::int64_t>(outcome.bytes), "By");
  recorder.measure("baud", std::int64_t{outcome.baud}, "Bd");
  recorder.measure(
      "rate", static_cast<double>(outcome.bytes) * 1e9 / static_cast<double>(outcome.transfer_ns),
      "By/s");
}

Result<> run_firmware_flash(StepContext& context) {
  reports::StepRecorder& recorder = context.recorder;
  if (!context.bench.board.uart) {
    recorder.skip("the board's profile names no UART");
    return {};
  }
  const auto image = load_image(context.bench, context.parameters);
  if (!image) return std::unexpected(image.error());
  const auto port = choose_port(context.bench);
  if (!port) return std::unexpected(port.error());

  bool sending = false;
  std::uint64_t sent = 0;  // at most, of any try
  std::int64_t sending_since_ns = 0;
  bool is_scanned = true;
  bool serial_known = false;
  auto options = make_options(context);
  if (!context.serial.empty()) {
    options.check_identity = [&](firmware::AtClient& client,
                                 const firmware::AtOptions& at) -> Result<> {
      const auto serial = check_serial(context, client, at);
      if (!serial) return std::unexpected(serial.error());
      if (!serial->text.empty() && !std::exchange(serial_known, true)) {
        recorder.measure("serial", serial->text, "");
      }
      is_scanned = serial->is_scanned;
      return is_scanned ? Result<>() : fail(ErrorKind::usage, "another board", *port);
    };
  }
  options.on_progress = [&](UpdatePhase phase, std::uint64_t done, std::uint64_t total) {
    std::string text = fmt::format("{} {}", firmware::to_text(phase), image->header.version);
    if (phase == UpdatePhase::transfer) {
      sending = true;
      sent = std::max(sent, done);
      if (done == 0) sending_since_ns = monotonic_ns();
      const auto ns = static_cast<double>(monotonic_ns() - sending_since_ns);
      if (done > 0) text += fmt::format("  {:.1f} kB/s", static_cast<double>(done) * 1e6 / ns);
    }
    recorder.progress(done, total, text);
  };
  const int baud = context.bench.board.uart->baud.front();
  const auto outcome = firmware::update_board([&] { return firmware::open_transport(*port, baud); },
                                              *image, options);
  if (outcome) {
    report_outcome(context, *outcome);
    return {};
  }
  if (!is_scanned) {
    recorder.headline("another board");
    return {};
  }
  const Error& error = outcome.error();
  // Whatever came in between, the board has no new firmware: its port that stays away, too.
  if (sending && error.kind != ErrorKind::cancelled && error.kind != ErrorKind::usage) {
    recorder.finding(
        {.code = "FIRMWARE_UPDATE_FAILED",
         .message =
             fmt::format("The board was sent {} and does not run it.", image->header.version),
         .where = *port,
         // With what to do: an adapter that was pulled out is plugged in.
         .evidence = {error.hint.empty() ? error.what : error.what + "; " + error.hint,
                      fmt::format("{} of {} bytes were acknowledged", sent, image->bytes.size())}});
    recorder.headline("failed");
    return {};
  }
  if (report_no_answer(recorder, error, *port)) return {};
  return std::unexpected(error);
}

}  // namespace

Probe firmware_flash_probe() {
  return {.name = "firmware.flash",
          .summary = "update the board's firmware: guarded, read back, confirmed",
          .parameters = {{"image", ParameterType::text,
                          "firmware image; the one that the profile names by default"},
                         {"protocol", ParameterType::text, "ymodem, or smp (MCUmgr)"},
                         {"allow_downgrade", ParameterType::flag,
                          "also to a version older than the one that runs"}},
          .measurements =
              {{.name = "serial", .unit = "", .help = "as the board gives it"},
               {.name = "version_before", .unit = "", .help = "that ran", .semantic_version = true},
               {.name = "version", .unit = "", .help = "that runs now", .semantic_version = true},
               {.name = "interruptions",
                .unit = "1",
                .help = "transfers that broke off and were begun again"},
               {.name = "bytes", .unit = "By", .help = "of the image"},
               {.name = "baud", .unit = "Bd", .help = "of the transfer"},
               {.name = "rate", .unit = "By/s", .help = "of the transfer"}},
          .check = check_firmware_flash,
          .preflight = preflight_firmware_flash,
          .run = run_firmware_flash,
          .monitor = nullptr};
}

}  // namespace assay::probes
