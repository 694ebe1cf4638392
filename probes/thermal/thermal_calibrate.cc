#include <fmt/core.h>

#include <charconv>
#include <cmath>

#include "base/clock.h"
#include "base/regular_file.h"
#include "base/units.h"
#include "base/utf8.h"
#include "probes/thermal/calibration.h"
#include "probes/thermal/calibration_source.h"
#include "probes/thermal/sensor_findings.h"
#include "probes/thermal/sensor_list.h"
#include "probes/thermal/setting_file.h"
#include "probes/thermal/thermal.h"
#include "probes/thermal/thermal_limits.h"
#include "probes/thermal/thermal_zones.h"
#include "probes/thermal/thermometer_line.h"

namespace assay::probes {
namespace {

// Beyond it a sensor is broken, or the reference measures something else.
constexpr double most_correction_k = 10;
constexpr const char* default_offset_key = "temp_offset";
constexpr std::size_t most_pairs_bytes = 16 << 20;
constexpr int default_baud = 9600;
constexpr std::uint64_t default_readings = 20;
constexpr std::int64_t default_settle_time_ns = 600 * ns_per_s;
constexpr double default_settled_k_per_min = 0.2;

std::unexpected<Error> wrong(const char* parameter, const std::string& value,
                             const char* expected) {
  return fail(ErrorKind::usage, "\"" + to_printable(value) + "\" is not understood", parameter,
              std::string("expected ") + expected);
}

// A decimal number within bounds with one of the units, or none, behind it.
std::optional<double> number_with_unit(std::string_view text, std::string_view unit, double least,
                                       double most) {
  double value = 0;
  const char* end = text.data() + text.size();
  const auto [at, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc{} || !(value >= least && value <= most)) return std::nullopt;
  const std::string_view rest(at, static_cast<std::size_t>(end - at));
  return rest.empty() || rest == unit ? std::optional(value) : std::nullopt;
}

Result<ReferenceAccuracy> parse_accuracy(const std::string& text) {
  ReferenceAccuracy accuracy{0, 0};
  for (std::string_view left = text; !left.empty();) {
    const std::size_t comma = std::min(left.find(','), left.size());
    const std::string_view part = left.substr(0, comma);
    left.remove_prefix(std::min(comma + 1, left.size()));
    if (const auto percent =
            part.ends_with('%') ? number_with_unit(part, "%", 0, 100) : std::nullopt) {
      accuracy.percent = *percent;
    } else if (const auto kelvin = number_with_unit(part, "C", 0, 100)) {
      accuracy.kelvin = *kelvin;
    } else {
      return wrong("accuracy", text, "the larger of two such as 2C,2%, or one of them");
    }
  }
  return accuracy;
}

Result<Emissivity> parse_emissivity(const std::string& text, double room_c) {
  Emissivity emissivity{.surroundings_c = room_c};
  const std::size_t sign = text.find("+-");
  const std::string_view value = std::string_view(text).substr(0, sign);
  const auto number = number_with_unit(value, "", 0.01, 1);
  const auto tolerance = sign == std::string::npos
                             ? std::optional(emissivity.tolerance)
                             : number_with_unit(std::string_view(text).substr(sign + 2), "", 0, 1);
  if (!number || !tolerance) return wrong("emissivity", text, "0.95 or 0.95+-0.02");
  emissivity.value = *number;
  emissivity.tolerance = *tolerance;
  return emissivity;
}

struct CalibrateSettings {
  CalibrationSettings calibration;
  SourceSettings source;
  std::optional<bool> readings_hold_offset;
};

Result<CalibrateSettings> parse_settings(const Parameters& parameters) {
  CalibrateSettings settings;
  if (parameters.has("pairs") && parameters.has("thermometer")) {
    return fail(ErrorKind::usage, "readings come from a file or from a thermometer, not from both",
                "pairs");
  }
  const auto accuracy = parse_accuracy(parameters.text("accuracy", "2C,2%"));
  if (!accuracy) return std::unexpected(accuracy.error());
  settings.calibration.accuracy = *accuracy;
  const std::string room_text = parameters.text("room", "23");
  const auto room = number_with_unit(room_text, "C", -40, 85);
  if (!room) return wrong("room", room_text, "the room's temperature such as 23C");
  if (parameters.has("emissivity")) {
    const auto emissivity = parse_emissivity(parameters.text("emissivity"), *room);
    if (!emissivity) return std::unexpected(emissivity.error());
    settings.calibration.emissivity = *emissivity;
  }
  if (parameters.has("resolution")) {
    const std::string text = parameters.text("resolution");
    const auto resolution = number_with_unit(text, "C", 0.0001, 10);
    if (!resolution) return wrong("resolution", text, "the reference's last digit such as 0.1C");
    settings.calibration.reference_resolution_k = *resolution;
  }
  const std::string settled_text =
      parameters.text("settled", std::to_string(default_settled_k_per_min));
  const auto settled = number_with_unit(settled_text, "K/min", 0.001, 100);
  if (!settled) return wrong("settled", settled_text, "a slope such as 0.2K/min");
  settings.calibration.settled_k_per_s = *settled / 60;
  settings.source.settled_k_per_s = *settled / 60;
  settings.source.settle_time_ns = static_cast<std::int64_t>(
      parameters.number("settle_time", static_cast<std::uint64_t>(default_settle_time_ns)));
  settings.source.readings = parameters.number("readings", default_readings);
  if (settings.source.readings < least_pairs || settings.source.readings > most_pairs) {
    return wrong("readings", std::to_string(settings.source.readings), "4 to 100000");
  }
  if (parameters.has("readings_are")) {
    const std::string text = parameters.text("readings_are");
    if (text != "raw" && text != "corrected") {
      return wrong("readings_are", text, "raw or corrected");
    }
    settings.readings_hold_offset = text == "corrected";
  }
  return settings;
}

// "PORT@BAUD"
Result<std::unique_ptr<firmware::Transport>> open_thermometer(const std::string& text) {
  const std::size_t at = text.rfind('@');
  int baud = default_baud;
  if (at != std::string::npos) {
    const char* end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(text.data() + at + 1, end, baud);
    if (error != std::errc{} || stop != end || baud <= 0) {
      return wrong("thermometer", text, "PORT or PORT@BAUD such as /dev/ttyUSB1@9600");
    }
  }
  return firmware::open_transport(text.substr(0, at), baud);
}

Result<std::vector<ReadingPair>> take_pairs(StepContext& context, const SourceSettings& settings) {
  const Parameters& parameters = context.parameters;
  if (parameters.has("pairs")) {
    const std::string file = parameters.text("pairs");
    const auto text = read_regular_file(file, most_pairs_bytes);
    if (!text) return std::unexpected(text.error());
    return parse_pairs(*text, to_printable(file));
  }
  if (parameters.has("thermometer")) {
    if (settings.sensor_file.empty()) {
      return fail(ErrorKind::unavailable, "this machine has no thermal zone to calibrate");
    }
    auto thermometer = open_thermometer(parameters.text("thermometer"));
    if (!thermometer) return std::unexpected(thermometer.error());
    return pairs_from_thermometer(context, **thermometer, settings);
  }
  if (context.bench.prompt == nullptr) {
    return fail(ErrorKind::unavailable, "nobody is there to type readings", "",
                "give a file of pairs or a serial thermometer");
  }
  return pairs_from_person(context, *context.bench.prompt, settings);
}

// The zone that is calibrated: the profile's, else the first.
std::string sensor_file_of(const Bench& bench) {
  if (bench.board.thermal) return temperature_file(bench.board.thermal->zone);
  const auto zones = thermal_inventory(bench.machine).zones;
  return zones.empty() ? "" : zones.front().file();
}

struct OffsetPlace {
  std::string file;  // as this program opens it
  std::string key = default_offset_key;
};

Result<OffsetPlace> offset_place(const StepContext& context) {
  const auto& thermal = context.bench.board.thermal;
  OffsetPlace place;
  if (thermal && !thermal->offset_file.empty()) {
    place.key = thermal->offset_key;
    place.file = context.bench.machine.host_path(thermal->offset_file);
  }
  if (context.parameters.has("config")) place.file = context.parameters.text("config");
  if (place.file.empty()) {
    return fail(ErrorKind::usage, "the board's profile names no file for the offset", "config",
                "name the file, such as /etc/npu.conf, or a board");
  }
  return place;
}

std::string budget_text(const Calibration& calibration) {
  std::string text;
  for (const UncertaintyPart& part : calibration.budget) {
    text += fmt::format("{}{} {:.3f} K", text.empty() ? "" : ", ", part.name, part.u_k);
  }
  return text + fmt::format("; expanded (k = 2) {:.3f} K", calibration.expanded_k);
}

void record_calibration(reports::StepRecorder& recorder, const Calibration& calibration) {
  recorder.measure("correction", calibration.correction_k, "K");
  recorder.measure("expanded_uncertainty", calibration.expanded_k, "K");
  recorder.measure("calibrated_at", calibration.at_c, "Cel");
  recorder.measure("pairs", static_cast<std::int64_t>(calibration.pairs), "1");
  recorder.measure("pairs_unsettled", static_cast<std::int64_t>(calibration.unsettled), "1");
  recorder.measure("outliers", static_cast<std::int64_t>(calibration.outliers), "1");
  if (calibration.with_gain) recorder.measure("gain", calibration.gain, "1");
  recorder.detail("uncertainty", budget_text(calibration));
  auto budget = nlohmann::json::array();
  for (const UncertaintyPart& part : calibration.budget) {
    budget.push_back({{"name", part.name}, {"standard_uncertainty_k", part.u_k}});
  }
  recorder.detail("budget", std::move(budget));
  if (calibration.with_gain) {
    recorder.detail("model",
                    fmt::format("offset and gain {:.4f}: the file takes an offset alone, which is "
                                "right at {:.1f} C",
                                calibration.gain, calibration.at_c));
  } else {
    recorder.detail("model", "offset: the readings show no gain");
  }
  if (calibration.smaller_than_its_uncertainty()) {
    recorder.finding(
        {.code = "THERMAL_CORRECTION_UNCERTAIN",
         .kind = reports::FindingKind::observation,
         .message = fmt::format("The correction of {:+.3f} C is smaller than its uncertainty of "
                                "{:.3f} C: the sensor may be right as it is.",
                                calibration.correction_k, calibration.expanded_k),
         .evidence = {budget_text(calibration)}});
  }
}

Result<> run_thermal_calibrate(StepContext& context) {
  auto settings = parse_settings(context.parameters);
  if (!settings) return std::unexpected(settings.error());
  const auto place = offset_place(context);
  if (!place) return std::unexpected(place.error());
  const auto& thermal = context.bench.board.thermal;
  // Where the sensor is judged is where it must be right.
  if (thermal) settings->calibration.wanted_at_c = celsius(thermal->limit_mc);
  settings->source.sensor_file = sensor_file_of(context.bench);
  // Before anyone takes readings for it: can the file be changed, and what does it hold?
  const auto there = change_setting(place->file, place->key, "0", /*dry_run=*/true);
  if (!there) return std::unexpected(there.error());
  std::int64_t old_mc = 0;
  if (there->before) {
    const char* end = there->before->data() + there->before->size();
    const auto [at, error] = std::from_chars(there->before->data(), end, old_mc);
    if (error != std::errc{} || at != end) {
      return fail(ErrorKind::bad_file,
                  place->key + " is \"" + to_printable(*there->before) +
                      "\", which is no number of "
                      "milli-degrees",
                  place->file);
    }
  }
  if (old_mc != 0 && !settings->readings_hold_offset) {
    return fail(ErrorKind::usage,
                fmt::format("{} holds {} = {} already", place->file, place->key, old_mc),
                "readings_are", "say whether the sensor's readings are raw, or corrected by it");
  }

  const auto pairs = take_pairs(context, settings->source);
  if (!pairs) return std::unexpected(pairs.error());
  const auto calibration = calibrate(*pairs, settings->calibration);
  if (!calibration) return std::unexpected(calibration.error());
  record_calibration(context.recorder, *calibration);
  const std::int64_t new_mc = std::llround(calibration->correction_k * 1000) +
                              (settings->readings_hold_offset.value_or(false) ? old_mc : 0);
  context.recorder.headline(
      fmt::format("{:+.3f} +- {:.3f} C", calibration->correction_k, calibration->expanded_k));
  if (std::abs(celsius(new_mc)) > most_correction_k) {
    context.recorder.finding(sensor_drifted(
        thermal ? thermal->zone : "the sensor", -celsius(new_mc),
        {fmt::format("reference minus sensor {:+.3f} C, uncertain by {:.3f} C", celsius(new_mc),
                     calibration->expanded_k),
         fmt::format("a calibration may correct by {:.0f} C at most: {} was not written",
                     most_correction_k, place->key)}));
    return {};
  }
  const bool dry_run = context.parameters.flag("dry_run");
  const auto change = change_setting(place->file, place->key, std::to_string(new_mc), dry_run);
  if (!change) return std::unexpected(change.error());
  context.recorder.detail(
      dry_run ? "would write" : "written",
      fmt::format("{} = {} (before: {}) into {}{}", place->key, new_mc,
                  change->before.value_or("not set"), place->file,
                  change->backup.empty() ? "" : "; the file before is " + change->backup));
  context.recorder.measure("offset", celsius(new_mc), "K");
  return {};
}

Result<> check_calibrate(const Parameters& parameters) {
  const auto settings = parse_settings(parameters);
  return settings ? Result<>{} : std::unexpected(settings.error());
}

}  // namespace

Probe thermal_calibrate_probe() {
  using enum ParameterType;
  return {
      .name = "thermal.calibrate",
      .summary = "the sensor's offset against a reference thermometer, with its uncertainty",
      .parameters =
          {{"pairs", text, "CSV file of sensor, reference and perhaps time (C, C, s)"},
           {"thermometer", text, "serial thermometer, PORT or PORT@BAUD, that sends lines"},
           {"readings", count, "pairs to take from a serial thermometer (default 20)"},
           {"accuracy", text, "of the reference: the larger of, default 2C,2%"},
           {"resolution", text, "of the reference, such as 0.1C; else found from its readings"},
           {"emissivity", text, "of an infrared reference, such as 0.95+-0.02"},
           {"room", text, "what the surface reflects, for the emissivity (default 23C)"},
           {"settled", text, "the steepest slope that counts as settled (default 0.2K/min)"},
           {"settle_time", duration, "how long to wait for it (default 10min)"},
           {"readings_are", text, "raw, or corrected by the offset that the file holds already"},
           {"config", text, "the file to write; else the profile's"},
           {"dry_run", flag, "write nothing"}},
      .measurements = {{"correction", "K", "reference minus sensor"},
                       {"expanded_uncertainty", "K", "of the correction, k = 2"},
                       {"calibrated_at", "Cel", "where the correction is right"},
                       {"pairs", "1", "that were taken"},
                       {"pairs_unsettled", "1", "left out: the temperature moved"},
                       {"outliers", "1", "left out: far off the others"},
                       {"gain", "1", "where the readings show one"},
                       {"offset", "K", "as written"}},
      .check = check_calibrate,
      .preflight = nullptr,
      .run = run_thermal_calibrate,
      .monitor = nullptr};
}

}  // namespace assay::probes
