#include "probes/firmware/firmware_dfu.h"

#include <fmt/core.h>

#include <utility>

#include "base/regular_file.h"
#include "firmware/image/dfu_suffix.h"
#include "firmware/image/firmware_image.h"
#include "firmware/usb/dfu_update.h"
#include "probes/firmware/image_source.h"
#include "probes/firmware/trial_uart.h"

namespace assay::probes {
namespace {

using firmware::DfuPhase;

// What is sent to the device, and which one it may be sent to.
struct Payload {
  std::vector<std::uint8_t> content;
  std::string title;  // "m6 2.3.1", or the file's name
  std::optional<firmware::DfuSuffix> suffix;
  std::optional<SemanticVersion> version;  // of an image of ours, which the board runs on trial
};

// An image of ours is for the board that it names; any other file must say in its suffix which
// device it is for.
Result<Payload> load_payload(const Bench& bench, const Parameters& parameters) {
  const auto path = find_image(bench, parameters);
  if (!path) return std::unexpected(path.error());
  const auto file = read_regular_file(*path, firmware::max_image_bytes);
  if (!file) return std::unexpected(file.error());
  const std::vector<std::uint8_t> bytes(file->begin(), file->end());
  const auto dfu = firmware::read_dfu_file(bytes, *path);
  if (!dfu) return std::unexpected(dfu.error());
  Payload payload{{dfu->content.begin(), dfu->content.end()}, *path, dfu->suffix, {}};
  const auto image = firmware::parse_image(payload.content, *path);
  if (image) {
    if (auto fits = firmware::check_image(*image, image_policy(bench)); !fits) {
      fits.error().where = *path;
      return std::unexpected(fits.error());
    }
    payload.title = fmt::format("{} {}", image->header.board, image->header.version);
    payload.version = image->version;
    return payload;
  }
  // A damaged image of ours is no other file.
  const bool names_device = !firmware::begins_as_image(payload.content) && payload.suffix &&
                            payload.suffix->vendor != firmware::any_id &&
                            payload.suffix->product != firmware::any_id;
  if (names_device && image_policy(bench).public_key.empty()) return payload;
  return std::unexpected(image.error());
}

Result<> preflight_firmware_dfu(const Bench& bench, const Parameters& parameters) {
  const auto payload = load_payload(bench, parameters);
  return payload ? Result<>() : std::unexpected(payload.error());
}

firmware::DfuSelector selector_of(const Bench& bench, const Parameters& parameters) {
  return {.ids = bench.board.dfu_ids,
          .id = parameters.text("device"),
          .serial = parameters.text("usb_serial")};
}

const char* to_text(DfuPhase phase) {
  switch (phase) {
    case DfuPhase::detach:
      return "asking the device into DFU mode";
    case DfuPhase::write:
      return "writing";
    case DfuPhase::restart:
      return "waiting for the device";
  }
  return "";
}

bool of_the_board(const Error& error) {
  return error.kind == ErrorKind::timeout || error.kind == ErrorKind::protocol ||
         error.kind == ErrorKind::vanished;
}

// Nobody has seen the new image run.
void report_trial(reports::StepRecorder& recorder, const Payload& payload) {
  recorder.headline(payload.title + " written, on trial: not confirmed");
  recorder.finding({.code = "FIRMWARE_ON_TRIAL",
                    .kind = reports::FindingKind::observation,
                    .message = payload.title +
                               " is on trial: unless it is confirmed, the board goes back to the "
                               "image before at its next start."});
}

// Over the UART: it runs, and stays.
Result<> confirm(StepContext& context, const Payload& payload, TrialUart uart) {
  reports::StepRecorder& recorder = context.recorder;
  const std::string before = uart.version;
  recorder.progress(0, 0, "confirming");
  const auto confirmed = confirm_trial(uart, *payload.version);
  if (confirmed) {
    recorder.headline((before.empty() ? "" : before + " -> ") + uart.version);
    recorder.log(reports::Severity::info,
                 fmt::format("the board ran {} and runs {}, confirmed",
                             before.empty() ? "what is not known" : before, uart.version));
    measure_versions(context, before, uart.version);
    return {};
  }
  const Error& error = confirmed.error();
  if (!of_the_board(error)) return confirmed;
  recorder.finding(
      {.code = "FIRMWARE_UPDATE_FAILED",
       .message = payload.title + " was written over USB and is not confirmed.",
       .where = error.where,
       .evidence = {error.what},
       .likely = {"the new image does not start on this board, and the board went back to the old "
                  "one",
                  "the serial port belongs to another board than the one on USB",
                  "the board's UART is not joined, or its port has another baud rate"},
       .remedy = {"run  assay fw slots  to see what the board has",
                  "name the board's port with --port, and run the command again"}});
  recorder.headline("not confirmed");
  return {};
}

void report_failure(reports::StepRecorder& recorder, const Payload& payload, const Error& error) {
  recorder.finding(
      {.code = "FIRMWARE_UPDATE_FAILED",
       .message = fmt::format("{} could not be written over USB.", payload.title),
       .where = error.where,
       .evidence = {error.what},
       .likely = {"the cable, or a hub on the way, lost the board in the middle",
                  "the board has too little power while it erases and writes",
                  "another program talked to the board's DFU interface",
                  "the new image does not start on this board"},
       .remedy = {error.hint.empty()
                      ? "unplug the board and plug it in again: it runs the firmware that it has"
                      : error.hint,
                  "use another cable and another port, without a hub, then try again",
                  "run  assay usb list  to see whether the board is there, and in DFU mode"}});
  recorder.headline("failed");
}

Result<> run_firmware_dfu(StepContext& context) {
  reports::StepRecorder& recorder = context.recorder;
  const auto payload = load_payload(context.bench, context.parameters);
  if (!payload) return std::unexpected(payload.error());
  std::optional<TrialUart> uart;
  if (payload->version) {
    auto opened = open_trial_uart(context);
    if (!opened) return std::unexpected(opened.error());
    uart = std::move(*opened);
  }

  firmware::DfuUpdateOptions options;
  std::int64_t begin_ns = 0;
  std::int64_t end_ns = 0;
  options.suffix = payload->suffix;
  options.transfer.cancel = &context.cancel;
  options.transfer.on_progress = [&](std::uint64_t done) {
    recorder.progress(done, payload->content.size(), to_text(DfuPhase::write));
    if (done == payload->content.size()) end_ns = monotonic_ns();
  };
  options.on_phase = [&](DfuPhase now) {
    if (now == DfuPhase::write) begin_ns = monotonic_ns();
    recorder.progress(0, 0, to_text(now));
  };
  const auto updated = firmware::update_over_dfu(selector_of(context.bench, context.parameters),
                                                 payload->content, options);
  if (!updated) {
    const Error& error = updated.error();
    // Before anything was written, nothing can be said of the board.
    if (begin_ns != 0 && of_the_board(error)) {
      report_failure(recorder, *payload, error);
      return {};
    }
    // A run that was stopped does not tell its steps' errors.
    if (error.kind == ErrorKind::cancelled) recorder.log(reports::Severity::warning, error.text());
    return std::unexpected(error);
  }
  recorder.log(reports::Severity::info,
               fmt::format("{} was written to {}, which is back as {}", payload->title,
                           updated->before.name(), updated->after.name()));
  recorder.measure("bytes", static_cast<std::int64_t>(payload->content.size()), "By");
  if (end_ns > begin_ns) {
    recorder.measure(
        "rate",
        static_cast<double>(payload->content.size()) * 1e9 / static_cast<double>(end_ns - begin_ns),
        "By/s");
  }
  if (uart) return confirm(context, *payload, std::move(*uart));
  if (payload->version) {
    report_trial(recorder, *payload);
  } else {
    recorder.headline(payload->title + " written");
  }
  return {};
}

}  // namespace

Probe firmware_dfu_probe() {
  return {
      .name = "firmware.dfu",
      .summary = "write firmware over USB (DFU 1.1); confirmed over the UART, where there is one",
      .parameters = {{"image", ParameterType::text,
                      "firmware image, or a .dfu file whose suffix names the device; the one "
                      "that the profile names by default"},
                     {"device", ParameterType::text,
                      "USB id such as 1209:a551; the profile's by default"},
                     {"usb_serial", ParameterType::text,
                      "its USB serial number, which is enough by itself"}},
      .measurements = {{.name = "bytes", .unit = "By", .help = "written"},
                       {.name = "rate", .unit = "By/s", .help = "of the transfer"},
                       {.name = "version_before",
                        .unit = "",
                        .help = "that ran; over the UART",
                        .semantic_version = true},
                       {.name = "version",
                        .unit = "",
                        .help = "that runs now, confirmed; over the UART",
                        .semantic_version = true}},
      .preflight = preflight_firmware_dfu,
      .run = run_firmware_dfu,
      .monitor = nullptr};
}

}  // namespace assay::probes
