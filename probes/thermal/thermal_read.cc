#include <fmt/core.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <thread>

#include "base/clock.h"
#include "probes/thermal/sensor_findings.h"
#include "probes/thermal/sensor_history.h"
#include "probes/thermal/sensor_list.h"
#include "probes/thermal/sensor_reading.h"
#include "probes/thermal/settling.h"
#include "probes/thermal/thermal.h"
#include "probes/thermal/thermal_diagnosis.h"
#include "probes/thermal/thermal_limits.h"
#include "probes/thermal/thermal_zones.h"

namespace assay::probes {
namespace {

constexpr std::int64_t default_read_time_ns = 300 * ns_per_ms;
constexpr auto read_interval = std::chrono::milliseconds(50);
// A sensor beside which this much happened, and which gave one value in so many readings, is stuck.
constexpr std::int64_t neighbour_moved_mc = 5'000;
constexpr std::size_t readings_of_a_stuck_one = 20;

// One sensor of temperature and what it said.
struct ReadSensor {
  std::string label;
  std::string file;
  bool is_zone = false;
  bool is_boards = false;
  bool is_named = false;  // by the profile: the board's, or of a type that the board has
  std::vector<reports::Validator> limits;
  std::optional<std::int64_t> ceiling_mc;  // its own: a trip point, a chip's critical temperature
  bool chip_says_faulty = false;
  SensorHistory history;
  std::size_t busy = 0;
  std::optional<Error> unread;
  std::optional<std::int64_t> bad_mc;  // the last value that is no temperature
};

// The lowest trip point at which the kernel shuts the machine down, or nearly.
std::optional<std::int64_t> shutdown_mc(const ThermalZone& zone) {
  std::optional<std::int64_t> lowest;
  for (const TripPoint& trip : zone.trips) {
    if (trip.type != "critical" && trip.type != "hot") continue;
    // Firmware that knows no trip point gives 0 or a value beyond all sense.
    if (trip.mc > 0 && is_plausible(trip.mc) && (!lowest || trip.mc < *lowest)) lowest = trip.mc;
  }
  return lowest;
}

bool has_zone_type(const BoardProfile& board, const std::string& type) {
  return board.thermal &&
         std::find(board.thermal->zone_types.begin(), board.thermal->zone_types.end(), type) !=
             board.thermal->zone_types.end();
}

// A type of zone that the profile names and the machine does not have; empty: none.
std::string missing_zone_type(const ThermalInventory& all, const ThermalProfile& thermal) {
  for (const std::string& type : thermal.zone_types) {
    if (std::none_of(all.zones.begin(), all.zones.end(),
                     [&](const ThermalZone& zone) { return zone.type == type; })) {
      return type;
    }
  }
  return {};
}

std::vector<ReadSensor> sensors_of(const ThermalInventory& all, const BoardProfile& board) {
  std::vector<ReadSensor> sensors;
  for (const ThermalZone& zone : all.zones) {
    ReadSensor sensor;
    sensor.label = zone.label();
    sensor.file = zone.file();
    sensor.is_zone = true;
    sensor.is_boards = board.thermal && board.thermal->zone == zone.name;
    sensor.is_named = sensor.is_boards || has_zone_type(board, zone.type);
    sensor.limits = temperature_limits(board, sensor.is_named ? board.thermal->zone : zone.name);
    sensor.ceiling_mc = shutdown_mc(zone);
    sensors.push_back(std::move(sensor));
  }
  for (const HwmonSensor& chip : all.sensors) {
    if (chip.kind != HwmonSensor::Kind::temperature) continue;
    ReadSensor sensor;
    sensor.label = chip.label;
    sensor.file = chip.file;
    if (chip.critical_mc && *chip.critical_mc > 0 && is_plausible(*chip.critical_mc)) {
      sensor.ceiling_mc = chip.critical_mc;
    }
    sensor.chip_says_faulty = chip.faulty;
    sensors.push_back(std::move(sensor));
  }
  for (ReadSensor& sensor : sensors) {
    if (!sensor.ceiling_mc) continue;
    sensor.limits.push_back(
        reports::make_validator(reports::Comparison::less, celsius(*sensor.ceiling_mc), "Cel"));
  }
  return sensors;
}

// A temperature that some other sensor has.
std::optional<std::int64_t> warmest_other(const std::vector<ReadSensor>& sensors,
                                          const ReadSensor& but) {
  std::optional<std::int64_t> warmest;
  for (const ReadSensor& sensor : sensors) {
    if (&sensor == &but || sensor.history.count() == 0) continue;
    const std::int64_t mc = sensor.history.last_mc();
    if (judge_reading(mc).fault == ReadingFault::none && (!warmest || mc > *warmest)) warmest = mc;
  }
  return warmest;
}

void read_once(const Machine& machine, std::vector<ReadSensor>& sensors) {
  for (ReadSensor& sensor : sensors) {
    const SensorReading reading = read_sensor(machine, sensor.file);
    if (!reading.mc) {
      if (reading.error_number == EAGAIN) ++sensor.busy;
      sensor.unread = reading.error;
    } else if (is_plausible(*reading.mc)) {
      sensor.history.add(*reading.mc);
    } else {
      sensor.bad_mc = *reading.mc;
    }
  }
}

void read_for(StepContext& context, std::int64_t time_ns, std::vector<ReadSensor>& sensors) {
  const std::int64_t start = monotonic_ns();
  for (;;) {
    read_once(context.bench.machine, sensors);
    const std::int64_t elapsed = monotonic_ns() - start;
    if (elapsed >= time_ns || context.cancelled()) return;
    context.recorder.progress(static_cast<std::uint64_t>(elapsed / ns_per_ms),
                              static_cast<std::uint64_t>(time_ns / ns_per_ms));
    std::this_thread::sleep_for(read_interval);
  }
}

bool any_other_moved(const std::vector<ReadSensor>& sensors, const ReadSensor& but) {
  return std::any_of(sensors.begin(), sensors.end(), [&](const ReadSensor& sensor) {
    return &sensor != &but &&
           sensor.history.most_mc() - sensor.history.least_mc() >= neighbour_moved_mc;
  });
}

// How steep a settled temperature may still be: what is left to come, a time constant of it, is
// less than a quarter of what the room may differ.
double settled_slope(const GoldenThermal& golden) {
  return std::max(celsius(golden.base_tolerance_mc), 0.1) / (4 * golden.time_s);
}

// The board's level at rest against a golden board's. A board that still cools down from what it
// did before is waited for, for a few of its time constants.
void judge_rest_level(StepContext& context, const ThermalInventory& all, ReadSensor& sensor) {
  const Machine& machine = context.bench.machine;
  const GoldenThermal& golden = *context.bench.board.thermal->golden;
  const std::int64_t start = monotonic_ns();
  const auto most_ns = static_cast<std::int64_t>((5 + 6 * golden.time_s) * 1e9);
  SettlingTest settling(settled_slope(golden));
  double power_sum = 0;
  std::size_t powers = 0;
  std::size_t readings = 0;
  while (!settling.settled()) {
    const std::int64_t now = monotonic_ns();
    if (now - start > most_ns || context.cancelled()) {
      context.recorder.log(reports::Severity::info,
                           "the temperature has not settled: its level is not judged");
      return;
    }
    const SensorReading reading = read_sensor(machine, sensor.file);
    // What is no temperature is told where the sensor is reported.
    if (!reading.mc || judge_reading(*reading.mc).fault != ReadingFault::none) return;
    settling.add(now, celsius(*reading.mc));
    sensor.history.add(*reading.mc);
    ++readings;
    if (const auto power = read_power_w(machine, all.sensors)) {
      power_sum += *power;
      ++powers;
    }
    std::this_thread::sleep_for(read_interval);
  }
  const std::optional<double> power =
      powers == readings ? std::optional(power_sum / static_cast<double>(powers)) : std::nullopt;
  const RestLevel level = compare_rest_with_golden(settling.mean_c(), power, golden);
  if (!level.is_off()) return;
  context.recorder.finding(sensor_drifted(
      sensor.label, level.off_k,
      {fmt::format("{}: {:.1f} C at rest{}", sensor.file, settling.mean_c(),
                   power ? fmt::format(" with {:.1f} W", *power) : ""),
       fmt::format("without power {:.1f} C; a golden board's is {:.1f} C, within {:.1f} K",
                   level.base_c, celsius(golden.base_mc), level.margin_k)}));
}

// What the row of readings tells. True when it is a fault.
bool report_behaviour(reports::StepRecorder& recorder, const std::vector<ReadSensor>& sensors,
                      const ReadSensor& sensor) {
  const SensorHistory& history = sensor.history;
  if (history.jumping()) {
    recorder.finding(sensor_jumping(sensor.label, sensor.file, history));
    return true;
  }
  const bool stuck = history.constant() && history.count() >= readings_of_a_stuck_one &&
                     any_other_moved(sensors, sensor);
  if (!stuck && !history.frozen()) return false;
  recorder.finding(sensor_stuck(sensor.label, sensor.file, history,
                                stuck ? "another sensor moved by 5 C or more meanwhile"
                                      : "it had moved from reading to reading before"));
  return true;
}

// Tells one sensor's temperature and what is wrong with it. Nothing that is no temperature is
// measured: it would spoil the statistics.
Result<> report_sensor(StepContext& context, const std::vector<ReadSensor>& sensors,
                       const ReadSensor& sensor) {
  reports::StepRecorder& recorder = context.recorder;
  if (sensor.chip_says_faulty) {
    recorder.finding({.code = "THERMAL_SENSOR_IMPLAUSIBLE",
                      .message = sensor.label + ": its chip reports the sensor as faulty.",
                      .where = sensor.label,
                      .evidence = {sensor.file + ": its _fault file is not 0"}});
    return {};
  }
  if (sensor.busy > 0 && sensor.history.count() > 0) {
    recorder.log(reports::Severity::info,
                 fmt::format("{}: busy in {} of {} readings", sensor.file, sensor.busy,
                             sensor.busy + sensor.history.count()));
  }
  std::optional<std::int64_t> mc = sensor.bad_mc;
  if (!mc && sensor.history.count() > 0) mc = sensor.history.last_mc();
  if (!mc) {
    if (sensor.is_named) return std::unexpected(*sensor.unread);
    recorder.log(reports::Severity::warning, sensor.unread->text());
    return {};
  }
  const ReadingVerdict verdict = judge_reading(*mc, warmest_other(sensors, sensor));
  if (verdict.fault != ReadingFault::none) {
    recorder.finding(sensor_implausible(sensor.label, sensor.file, *mc, verdict));
    return {};
  }
  if (report_behaviour(recorder, sensors, sensor)) return {};
  const bool within = recorder.measure(sensor.is_zone ? "temperature" : "sensor_temperature",
                                       celsius(*mc), "Cel", sensor.limits, sensor.label);
  if (within) return {};
  const bool by_profile = sensor.is_named && *mc > acceptance_mc(*context.bench.board.thermal);
  recorder.finding(
      {.code = "THERMAL_OVER_LIMIT",
       .message =
           fmt::format("{} reads {:.1f} C at rest; {}.", sensor.label, celsius(*mc),
                       by_profile          ? limit_sentence(*context.bench.board.thermal, *mc)
                       : sensor.ceiling_mc ? fmt::format("its own critical temperature is {:.1f} C",
                                                         celsius(*sensor.ceiling_mc))
                                           : "that is outside the plan's limits"),
       .where = sensor.label,
       .evidence = {fmt::format("{}: {}", sensor.file, *mc)}});
  return {};
}

void show_the_rest(StepContext& context, const ThermalInventory& all) {
  reports::StepRecorder& recorder = context.recorder;
  for (const ThermalZone& zone : all.zones) {
    for (const TripPoint& trip : zone.trips) {
      recorder.measure("trip_point", celsius(trip.mc), "Cel", {},
                       fmt::format("{} {} {}", zone.name, trip.number, trip.type));
    }
    if (zone.mode == "disabled") {
      recorder.log(reports::Severity::warning,
                   zone.label() + " is disabled: the kernel does nothing at its trip points");
    }
  }
  for (const CoolingDevice& device : all.cooling) {
    recorder.measure("cooling_state", device.state, "1", {},
                     fmt::format("{} {} of {}", device.name, device.type, device.most));
  }
  for (const HwmonSensor& sensor : all.sensors) {
    if (sensor.kind == HwmonSensor::Kind::temperature) continue;
    const auto value = context.bench.machine.read_integer(sensor.file);
    if (!value) {
      recorder.log(reports::Severity::warning, value.error().text());
    } else if (sensor.kind == HwmonSensor::Kind::fan) {
      recorder.measure("fan_speed", *value, "/min", {}, sensor.label);
    } else {
      recorder.measure("power", static_cast<double>(*value) / 1e6, "W", {}, sensor.label);
    }
  }
}

Result<> run_thermal_read(StepContext& context) {
  const ThermalInventory all = thermal_inventory(context.bench.machine);
  const auto& thermal = context.bench.board.thermal;
  std::vector<ReadSensor> sensors = sensors_of(all, context.bench.board);
  const bool has_boards = std::any_of(sensors.begin(), sensors.end(),
                                      [](const ReadSensor& sensor) { return sensor.is_boards; });
  if (thermal && !has_boards) {
    return fail(ErrorKind::unavailable, "the board's thermal zone is not there",
                temperature_file(thermal->zone));
  }
  if (const std::string type = thermal ? missing_zone_type(all, *thermal) : ""; !type.empty()) {
    return fail(ErrorKind::unavailable, "no thermal zone of the board's type " + type + " is there",
                "/sys/class/thermal/thermal_zone*/type");
  }
  show_the_rest(context, all);
  if (sensors.empty()) {
    context.recorder.skip("this machine has no thermal zone and no hwmon temperature");
    return {};
  }
  read_for(context,
           static_cast<std::int64_t>(
               context.parameters.number("time", static_cast<std::uint64_t>(default_read_time_ns))),
           sensors);
  if (thermal && thermal->golden) {
    const auto boards = std::find_if(sensors.begin(), sensors.end(),
                                     [](const ReadSensor& sensor) { return sensor.is_boards; });
    if (boards->history.count() > 0 && !boards->bad_mc) judge_rest_level(context, all, *boards);
  }
  std::string headline;
  bool answered = false;
  for (const ReadSensor& sensor : sensors) {
    if (auto reported = report_sensor(context, sensors, sensor); !reported) return reported;
    answered = answered || sensor.history.count() > 0 || sensor.bad_mc || sensor.chip_says_faulty;
    if (sensor.history.count() > 0 && (headline.empty() || sensor.is_boards)) {
      headline = fmt::format("{:.1f} C", celsius(sensor.history.last_mc()));
    }
  }
  if (!answered) return std::unexpected(*sensors.front().unread);
  context.recorder.headline(headline);
  return {};
}

}  // namespace

Probe thermal_read_probe() {
  return {.name = "thermal.read",
          .summary = "every thermal zone with its trip points, hwmon sensor and cooling device",
          .parameters = {{"time", ParameterType::duration,
                          "read again and again, and judge how the sensors behave"}},
          .measurements = {{"temperature", "Cel", "of a zone, held against the board's limit"},
                           {"sensor_temperature", "Cel", "of hwmon, held against its critical one"},
                           {"trip_point", "Cel", "where the kernel does something"},
                           {"cooling_state", "1", "of a cooling device; 0 does nothing"},
                           {"fan_speed", "/min", "of a fan"},
                           {"power", "W", "that a chip measures"}},
          .preflight = nullptr,
          .run = run_thermal_read,
          .monitor = nullptr};
}

}  // namespace assay::probes
