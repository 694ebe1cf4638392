#include "probes/thermal/thermal_watch.h"

#include <fmt/core.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "base/clock.h"
#include "probes/thermal/kernel_log.h"
#include "probes/thermal/sensor_findings.h"
#include "probes/thermal/sensor_reading.h"
#include "probes/thermal/thermal_limits.h"
#include "probes/thermal/thermal_zones.h"

namespace assay::probes {
namespace {

using reports::Comparison;

constexpr std::string_view throttle_line = "THERMAL_THROTTLE";
// A sensor that is busy for longer is not observed.
constexpr std::size_t most_busy = 5;
// Readings, all the same, after which a sensor of a board whose power more than doubled is stuck.
constexpr std::size_t watched_readings_of_a_stuck_one = 40;

// The profile's clock within its tolerance, both ways.
std::vector<reports::Validator> clock_limits(const FrequencyProfile& clock,
                                             std::vector<reports::Validator> limits) {
  const auto mhz = [](std::int64_t hz) { return static_cast<double>(hz) / 1e6; };
  limits.push_back(reports::make_validator(Comparison::greater_or_equal,
                                           mhz(clock.nominal_hz - clock.tolerance_hz), "MHz"));
  limits.push_back(reports::make_validator(Comparison::less_or_equal,
                                           mhz(clock.nominal_hz + clock.tolerance_hz), "MHz"));
  return limits;
}

// Which clock of the profile's this is, in words.
std::string which_clock(const FrequencyProfile& clock, std::int64_t hz) {
  const std::int64_t off = hz - clock.throttled_hz;
  if (std::max(off, -off) <= clock.tolerance_hz) return "the clock of its throttle";
  return fmt::format("neither its clock nor that of its throttle, {} MHz",
                     clock.throttled_hz / 1'000'000);
}

}  // namespace

ThermalWatch::ThermalWatch(const Machine& machine, reports::StepRecorder& recorder,
                           const ThermalProfile& thermal, WatchLimits limits)
    : machine_(machine),
      recorder_(recorder),
      thermal_(thermal),
      power_sensors_(thermal_inventory(machine).sensors),
      log_mark_(kernel_log_end(machine)),
      start_ns_(monotonic_ns()),
      load_ns_(start_ns_) {
  std::erase_if(power_sensors_,
                [](const HwmonSensor& sensor) { return sensor.kind != HwmonSensor::Kind::power; });
  for (const auto& limit : limits.temperature) {
    limits_text_ += (limits_text_.empty() ? "" : ", ") + limit.name;
  }
  temperature_ = recorder_.series("temperature", "Cel", std::move(limits.temperature));
  if (!thermal_.frequency) return;
  frequency_ = recorder_.series("frequency", "MHz",
                                clock_limits(*thermal_.frequency, std::move(limits.frequency)));
}

void ThermalWatch::load_begins(bool settled) {
  load_ns_ = monotonic_ns();
  starts_settled_ = settled;
}

Result<> ThermalWatch::sample(std::optional<double> load) {
  const std::int64_t now = monotonic_ns();
  const SensorReading reading = read_sensor(machine_, temperature_file(thermal_.zone));
  if (!reading.mc && reading.error_number == EAGAIN && ++busy_ <= most_busy) return {};
  if (!reading.mc) return std::unexpected(reading.error);
  busy_ = 0;
  add_temperature(*reading.mc, now, load);
  if (!frequency_) return {};
  const auto hz = machine_.read_integer(thermal_.frequency->file);
  if (!hz) return std::unexpected(hz.error());
  add_frequency(*hz, reading.mc, now);
  return {};
}

void ThermalWatch::add_temperature(std::int64_t mc, std::int64_t now_ns,
                                   std::optional<double> load) {
  const std::string file = temperature_file(thermal_.zone);
  // An exact 0 beside readings near it is cold weather.
  const auto before = history_.count() > 0 ? std::optional(history_.last_mc()) : std::nullopt;
  const ReadingVerdict verdict = judge_reading(mc, before);
  if (verdict.fault != ReadingFault::none) {
    if (!std::exchange(implausible_reported_, true)) {
      recorder_.finding(sensor_implausible(thermal_.zone, file, mc, verdict));
    }
    return;
  }
  history_.add(mc);
  const auto power = read_power_w(machine_, power_sensors_);
  if (course_.samples().empty()) has_power_ = power.has_value();
  const std::optional<double> heats = has_power_ ? power : load;
  // A clock that goes up and down between two samples makes a power that no sample shows: the fit
  // is of what was before.
  if (heats && !throttled_ns_) {
    course_.add({static_cast<double>(now_ns - start_ns_) / 1e9, celsius(mc), *heats});
  }
  if (!temperature_->add(celsius(mc)) && !std::exchange(over_limit_reported_, true)) {
    const bool by_profile = mc > acceptance_mc(thermal_);
    recorder_.finding(
        {.code = "THERMAL_OVER_LIMIT",
         .message = fmt::format(
             "{} reached {:.1f} C under load; {}.", thermal_.zone, celsius(mc),
             by_profile ? limit_sentence(thermal_, mc) : "the limits are: " + limits_text_),
         .where = thermal_.zone,
         .evidence = {fmt::format("{}: {}", file, mc)}});
  }
}

void ThermalWatch::add_frequency(std::int64_t hz, std::optional<std::int64_t> mc,
                                 std::int64_t now_ns) {
  const bool within = frequency_->add(static_cast<double>(hz) / 1e6);
  const FrequencyProfile& clock = *thermal_.frequency;
  const bool fast = hz > clock.nominal_hz + clock.tolerance_hz;
  if (!throttled_ns_ && hz < clock.nominal_hz - clock.tolerance_hz) {
    throttled_ns_ = now_ns - load_ns_;
  }
  if (within || std::exchange(clock_reported_, true)) return;
  if (fast) {
    report_wrong_clock(hz);
  } else {
    report_throttle(mc, hz);
  }
}

void ThermalWatch::report_wrong_clock(std::int64_t hz) {
  const FrequencyProfile& clock = *thermal_.frequency;
  recorder_.finding(
      {.code = "NPU_CLOCK_HIGH",
       .message = fmt::format("The clock is {} MHz; its nominal one is {} MHz, within {} MHz.",
                              hz / 1'000'000, clock.nominal_hz / 1'000'000,
                              clock.tolerance_hz / 1'000'000),
       .where = clock.file,
       .evidence = {fmt::format("{}: {}", clock.file, hz)}});
}

void ThermalWatch::report_throttle(std::optional<std::int64_t> mc, std::int64_t hz) {
  std::vector<std::string> evidence = {fmt::format("{}: {}", thermal_.frequency->file, hz)};
  if (mc) evidence.push_back(fmt::format("{}: {}", temperature_file(thermal_.zone), *mc));
  evidence.push_back(which_clock(*thermal_.frequency, hz));
  for (const std::string& line : kernel_log_lines(machine_, throttle_line, log_mark_)) {
    evidence.push_back("kernel log: " + line);
  }
  reports::Finding finding{
      .code = "THERMAL_THROTTLE",
      .message = fmt::format("The clock fell to {} MHz (nominal {} MHz) while the sensor read "
                             "{:.1f} C; throttling begins at {:.1f} C.",
                             hz / 1'000'000, thermal_.frequency->nominal_hz / 1'000'000,
                             celsius(mc.value_or(0)), celsius(thermal_.throttle_mc)),
      .where = thermal_.zone,
      .evidence = std::move(evidence)};
  if (mc && is_plausible(*mc) && *mc >= thermal_.limit_mc) {
    // Sensor and core agree: it is heat that is not carried away, not a gap at the core.
    finding.likely = {"the air way is blocked or the fan does not turn", "the room is hot"};
    finding.remedy = {"check the fan and the air way", "renew the thermal paste"};
  }
  recorder_.finding(std::move(finding));
}

// A throttle that was over between two samples.
void ThermalWatch::report_throttle_lines() {
  if (throttled_ns_ || clock_reported_) return;
  std::vector<std::string> evidence;
  for (const std::string& line : kernel_log_lines(machine_, throttle_line, log_mark_)) {
    evidence.push_back("kernel log: " + line);
  }
  if (evidence.empty()) return;
  recorder_.finding({.code = "THERMAL_THROTTLE",
                     .message = fmt::format("The kernel logged {} throttles; the clock was back "
                                            "before a sample saw it.",
                                            evidence.size()),
                     .where = thermal_.zone,
                     .evidence = std::move(evidence)});
}

// True when the sensor is broken: what it read tells nothing of the board.
bool ThermalWatch::report_sensor() {
  const std::string file = temperature_file(thermal_.zone);
  if (history_.jumping()) {
    recorder_.finding(sensor_jumping(thermal_.zone, file, history_));
    return true;
  }
  const auto& samples = course_.samples();
  const auto [least, most] = std::minmax_element(
      samples.begin(), samples.end(),
      [](const ThermalSample& a, const ThermalSample& b) { return a.power < b.power; });
  const bool heated = !samples.empty() && most->power > 2 * least->power;
  const bool stuck =
      history_.constant() && history_.count() >= watched_readings_of_a_stuck_one && heated;
  if (!stuck && !history_.frozen()) return implausible_reported_;
  recorder_.finding(sensor_stuck(thermal_.zone, file, history_,
                                 stuck ? "what heats it more than doubled meanwhile"
                                       : "it had moved from reading to reading before"));
  return true;
}

void ThermalWatch::report_fit() {
  fit_ = fit_first_order(course_.samples(), starts_settled_);
  if (!fit_) return;
  recorder_.measure(has_power_ ? "thermal_resistance" : "thermal_rise", fit_->resistance,
                    has_power_ ? "K/W" : "K");
  recorder_.measure("time_constant", fit_->time_s, "s");
  recorder_.measure("base_temperature", fit_->base_c, "Cel");
  recorder_.measure("steady_temperature", fit_->steady_c(fit_->most_power), "Cel");
  if (!thermal_.golden) return;
  const auto told = compare_with_golden(*fit_, has_power_, *thermal_.golden);
  if (!told) return;
  std::vector<std::string> evidence = {
      told->comparison,
      fmt::format("fit of {} samples, {:.2f} K left over", fit_->count, fit_->rms_k)};
  switch (told->cause) {
    case ThermalCause::none:
      return;
    case ThermalCause::sensor:
      recorder_.finding(
          told->gain_off
              ? sensor_gain_off(thermal_.zone, told->resistance_ratio, std::move(evidence))
              : sensor_drifted(thermal_.zone, told->base_off_k, std::move(evidence)));
      return;
    case ThermalCause::contact:
    case ThermalCause::fan:
      break;
  }
  const bool fan = told->cause == ThermalCause::fan;
  recorder_.finding({.code = fan ? "THERMAL_COOLING_WEAK" : "THERMAL_CONTACT_POOR",
                     .message = fmt::format(
                         "{} warms {:.0f} % more than a golden board for the same heat, and {}.",
                         thermal_.zone, 100 * (told->resistance_ratio - 1),
                         fan ? fmt::format("takes {:.0f} % longer: the heat does not get away",
                                           100 * (told->time_ratio - 1))
                             : "as fast: it does not get from the core into the cooler"),
                     .where = thermal_.zone,
                     .evidence = std::move(evidence)});
}

void ThermalWatch::finish() {
  if (throttled_ns_) {
    recorder_.measure("time_to_throttle", static_cast<double>(*throttled_ns_) / 1e9, "s");
  }
  report_throttle_lines();
  if (!report_sensor()) report_fit();
}

}  // namespace assay::probes
