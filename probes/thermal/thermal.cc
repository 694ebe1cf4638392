#include "probes/thermal/thermal.h"

#include <fmt/core.h>

#include <algorithm>

#include "probes/thermal/kernel_log.h"
#include "probes/thermal/thermal_zones.h"

namespace assay::probes {
namespace {

using reports::Comparison;

double celsius(std::int64_t mc) {
  return static_cast<double>(mc) / 1000;
}

void report_implausible(reports::StepRecorder& recorder, const std::string& zone, std::int64_t mc) {
  recorder.finding({.code = "THERMAL_SENSOR_IMPLAUSIBLE",
                    .message = fmt::format("{} reads {:.1f} C.", zone, celsius(mc)),
                    .where = zone,
                    .evidence = {fmt::format("{}: {}", temperature_file(zone), mc)}});
}

std::vector<reports::Validator> temperature_limits(const BoardProfile& board,
                                                   const std::string& zone) {
  if (!board.thermal || board.thermal->zone != zone) return {};
  return {
      reports::make_validator(Comparison::less_or_equal, celsius(board.thermal->limit_mc), "Cel")};
}

Result<> run_thermal_read(StepContext& context) {
  const Machine& machine = context.bench.machine;
  const auto& thermal = context.bench.board.thermal;
  const std::vector<std::string> zones = thermal_zones(machine);
  if (zones.empty() && !thermal) {
    context.recorder.skip("this machine has no thermal zone");
    return {};
  }
  if (thermal && std::find(zones.begin(), zones.end(), thermal->zone) == zones.end()) {
    return fail(ErrorKind::unavailable, "the board's thermal zone is not there",
                temperature_file(thermal->zone));
  }
  std::string headline;
  std::optional<Error> unread;
  std::size_t answered = 0;
  for (const std::string& zone : zones) {
    const auto mc = machine.read_integer(temperature_file(zone));
    const bool is_boards = thermal && thermal->zone == zone;
    if (!mc) {
      if (is_boards) return std::unexpected(mc.error());
      context.recorder.log(reports::Severity::warning, mc.error().text());
      unread = mc.error();
      continue;
    }
    ++answered;
    if (!is_plausible(*mc)) {
      report_implausible(context.recorder, zone, *mc);
      continue;
    }
    const auto type = machine.read_line("/sys/class/thermal/" + zone + "/type");
    const bool within = context.recorder.measure(
        "temperature", celsius(*mc), "Cel", temperature_limits(context.bench.board, zone),
        type && !type->empty() ? zone + " " + *type : zone);
    if (!within && is_boards) {
      context.recorder.finding(
          {.code = "THERMAL_OVER_LIMIT",
           .message = fmt::format("{} reads {:.1f} C at rest; the limit is {:.1f} C.", zone,
                                  celsius(*mc), celsius(thermal->limit_mc)),
           .where = zone,
           .evidence = {fmt::format("{}: {}", temperature_file(zone), *mc)}});
    }
    if (headline.empty() || is_boards) headline = fmt::format("{:.1f} C", celsius(*mc));
  }
  if (answered == 0 && unread) return std::unexpected(*unread);
  context.recorder.headline(headline);
  return {};
}

class ThermalMonitor final : public Monitor {
 public:
  explicit ThermalMonitor(const MonitorContext& context)
      : machine_(context.bench.machine),
        recorder_(context.recorder),
        thermal_(*context.bench.board.thermal),
        log_mark_(kernel_log_end(machine_)) {
    auto limits = temperature_limits(context.bench.board, thermal_.zone);
    const auto plan_limits = context.limits_for("temperature");
    limits.insert(limits.end(), plan_limits.begin(), plan_limits.end());
    for (const auto& limit : limits)
      limits_text_ += (limits_text_.empty() ? "" : ", ") + limit.name;
    temperature_ = recorder_.series("temperature", "Cel", std::move(limits));
    if (!thermal_.frequency) return;
    auto frequency_limits = context.limits_for("frequency");
    const double lowest =
        static_cast<double>(thermal_.frequency->nominal_hz - thermal_.frequency->tolerance_hz) /
        1e6;
    frequency_limits.push_back(
        reports::make_validator(Comparison::greater_or_equal, lowest, "MHz"));
    frequency_ = recorder_.series("frequency", "MHz", std::move(frequency_limits));
  }

  Result<> sample() override {
    const auto mc = machine_.read_integer(temperature_file(thermal_.zone));
    if (!mc) return std::unexpected(mc.error());
    add_temperature(*mc);
    if (!frequency_) return {};
    const auto hz = machine_.read_integer(thermal_.frequency->file);
    if (!hz) return std::unexpected(hz.error());
    if (!frequency_->add(static_cast<double>(*hz) / 1e6) &&
        !std::exchange(throttle_reported_, true)) {
      report_throttle(*mc, *hz);
    }
    return {};
  }

 private:
  void add_temperature(std::int64_t mc) {
    if (!is_plausible(mc)) {
      if (!std::exchange(implausible_reported_, true)) {
        report_implausible(recorder_, thermal_.zone, mc);
      }
      return;
    }
    if (!temperature_->add(celsius(mc)) && !std::exchange(over_limit_reported_, true)) {
      recorder_.finding(
          {.code = "THERMAL_OVER_LIMIT",
           .message = fmt::format("{} reached {:.1f} C under load; the limits are: {}.",
                                  thermal_.zone, celsius(mc), limits_text_),
           .where = thermal_.zone,
           .evidence = {fmt::format("{}: {}", temperature_file(thermal_.zone), mc)}});
    }
  }

  static constexpr std::string_view throttle_line = "THERMAL_THROTTLE";

  void report_throttle(std::int64_t mc, std::int64_t hz) {
    std::vector<std::string> evidence = {
        fmt::format("{}: {}", thermal_.frequency->file, hz),
        fmt::format("{}: {}", temperature_file(thermal_.zone), mc)};
    for (const std::string& line : kernel_log_lines(machine_, throttle_line, log_mark_)) {
      evidence.push_back("kernel log: " + line);
    }
    reports::Finding finding{
        .code = "THERMAL_THROTTLE",
        .message = fmt::format("The clock fell to {} MHz (nominal {} MHz) while the sensor read "
                               "{:.1f} C; throttling begins at {:.1f} C.",
                               hz / 1'000'000, thermal_.frequency->nominal_hz / 1'000'000,
                               celsius(mc), celsius(thermal_.throttle_mc)),
        .where = thermal_.zone,
        .evidence = std::move(evidence)};
    if (is_plausible(mc) && mc >= thermal_.limit_mc) {
      // Sensor and core agree: it is heat that is not carried away, not a gap at the core.
      finding.likely = {"the air way is blocked or the fan does not turn", "the room is hot"};
      finding.remedy = {"check the fan and the air way", "renew the thermal paste"};
    }
    recorder_.finding(std::move(finding));
  }

  const Machine& machine_;
  reports::StepRecorder& recorder_;
  const ThermalProfile& thermal_;
  std::uint64_t log_mark_;  // where the kernel log ended when the step began
  std::string limits_text_;
  std::unique_ptr<reports::Series> temperature_;
  std::unique_ptr<reports::Series> frequency_;
  bool implausible_reported_ = false;
  bool over_limit_reported_ = false;
  bool throttle_reported_ = false;
};

Result<std::unique_ptr<Monitor>> make_thermal_monitor(const MonitorContext& context) {
  const auto& thermal = context.bench.board.thermal;
  if (!thermal) return fail(ErrorKind::unavailable, "the board's profile names no thermal zone");
  // What the profile names and is not there is no "nothing to sample": the step is not observed.
  std::vector<std::string> files = {temperature_file(thermal->zone)};
  if (thermal->frequency) files.push_back(thermal->frequency->file);
  for (const std::string& file : files) {
    if (!context.bench.machine.exists(file)) {
      return fail(ErrorKind::io, "the board's profile names it and it is not there", file);
    }
  }
  return std::make_unique<ThermalMonitor>(context);
}

}  // namespace

Probe thermal_read_probe() {
  return {.name = "thermal.read",
          .summary = "the temperature of every thermal zone",
          .parameters = {},
          .measurements = {{"temperature", "Cel", "of a zone, held against the board's limit"}},
          .preflight = nullptr,
          .run = run_thermal_read,
          .monitor = nullptr};
}

Probe thermal_sample_probe() {
  return {.name = "thermal.sample",
          .summary = "temperature and clock beside whatever step runs",
          .parameters = {},
          .measurements = {{"temperature", "Cel", "of the board's zone"},
                           {"frequency", "MHz", "of the board's NPU"}},
          .preflight = nullptr,
          .run = nullptr,
          .monitor = make_thermal_monitor};
}

}  // namespace assay::probes
