#include "probes/firmware/firmware_dfu.h"

#include <fmt/core.h>

#include "base/regular_file.h"
#include "firmware/image/dfu_suffix.h"
#include "firmware/image/firmware_image.h"
#include "firmware/usb/dfu_update.h"
#include "probes/firmware/image_source.h"

namespace assay::probes {
namespace {

using firmware::DfuPhase;

// What is sent to the device, and which one it may be sent to.
struct Payload {
  std::vector<std::uint8_t> content;
  std::string title;  // "m6 2.3.1", or the file's name
  std::optional<firmware::DfuSuffix> suffix;
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
  Payload payload{{dfu->content.begin(), dfu->content.end()}, *path, dfu->suffix};
  const auto image = firmware::parse_image(payload.content, *path);
  if (image) {
    if (auto fits = firmware::check_image(*image, image_policy(bench)); !fits) {
      fits.error().where = *path;
      return std::unexpected(fits.error());
    }
    payload.title = fmt::format("{} {}", image->header.board, image->header.version);
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

Result<> run_firmware_dfu(StepContext& context) {
  reports::StepRecorder& recorder = context.recorder;
  const auto payload = load_payload(context.bench, context.parameters);
  if (!payload) return std::unexpected(payload.error());
  const auto selector = selector_of(context.bench, context.parameters);

  firmware::DfuUpdateOptions options;
  DfuPhase phase = DfuPhase::detach;
  std::int64_t begin_ns = 0;
  std::int64_t end_ns = 0;
  options.suffix = payload->suffix;
  options.transfer.cancel = &context.cancel;
  options.transfer.on_progress = [&](std::uint64_t done) {
    recorder.progress(done, payload->content.size(), to_text(DfuPhase::write));
    if (done == payload->content.size()) end_ns = monotonic_ns();
  };
  options.on_phase = [&](DfuPhase now) {
    phase = now;
    if (phase == DfuPhase::write) begin_ns = monotonic_ns();
    recorder.progress(0, 0, to_text(phase));
  };
  const auto updated = firmware::update_over_dfu(selector, payload->content, options);
  if (updated) {
    recorder.headline(payload->title + " written");
    recorder.log(reports::Severity::info,
                 fmt::format("{} was written to {}, which is back as {}", payload->title,
                             updated->before.name(), updated->after.name()));
    recorder.measure("bytes", static_cast<std::int64_t>(payload->content.size()), "By");
    if (end_ns > begin_ns) {
      recorder.measure("rate",
                       static_cast<double>(payload->content.size()) * 1e9 /
                           static_cast<double>(end_ns - begin_ns),
                       "By/s");
    }
    return {};
  }
  const Error& error = updated.error();
  const bool of_the_board = error.kind == ErrorKind::timeout || error.kind == ErrorKind::protocol ||
                            error.kind == ErrorKind::vanished;
  // Before anything was written, nothing can be said of the board.
  if (begin_ns == 0 || !of_the_board) return std::unexpected(error);
  recorder.finding({.code = "FIRMWARE_UPDATE_FAILED",
                    .message = fmt::format("{} could not be written over USB.", payload->title),
                    .where = error.where,
                    .evidence = {error.what},
                    .remedy = {"plug the board in again: it runs its old firmware", "try again"}});
  recorder.headline("failed");
  return {};
}

}  // namespace

Probe firmware_dfu_probe() {
  return {.name = "firmware.dfu",
          .summary = "write firmware over USB (DFU 1.1)",
          .parameters = {{"image", ParameterType::text,
                          "firmware image, or a .dfu file whose suffix names the device; the one "
                          "that the profile names by default"},
                         {"device", ParameterType::text,
                          "USB id such as 1209:a551; the profile's by default"},
                         {"usb_serial", ParameterType::text, "its USB serial number"}},
          .measurements = {{.name = "bytes", .unit = "By", .help = "written"},
                           {.name = "rate", .unit = "By/s", .help = "of the transfer"}},
          .preflight = preflight_firmware_dfu,
          .run = run_firmware_dfu,
          .monitor = nullptr};
}

}  // namespace assay::probes
