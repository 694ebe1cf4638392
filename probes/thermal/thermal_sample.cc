#include "probes/thermal/thermal.h"
#include "probes/thermal/thermal_limits.h"
#include "probes/thermal/thermal_watch.h"
#include "probes/thermal/thermal_zones.h"

namespace assay::probes {
namespace {

class ThermalMonitor final : public Monitor {
 public:
  ThermalMonitor(const MonitorContext& context, WatchLimits limits)
      : watch_(context.bench.machine, context.recorder, *context.bench.board.thermal,
               std::move(limits)) {}
  Result<> sample() override { return watch_.sample(); }
  void finish() override { watch_.finish(); }

 private:
  ThermalWatch watch_;
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
  WatchLimits limits{temperature_limits(context.bench.board, thermal->zone),
                     context.limits_for("frequency")};
  const auto plan_limits = context.limits_for("temperature");
  limits.temperature.insert(limits.temperature.end(), plan_limits.begin(), plan_limits.end());
  return std::make_unique<ThermalMonitor>(context, std::move(limits));
}

}  // namespace

std::vector<MeasurementSpec> thermal_watch_measurements() {
  return {{"temperature", "Cel", "of the board's zone"},
          {"frequency", "MHz", "of the board's NPU"},
          {"time_to_throttle", "s", "until the clock fell; not measured where it did not"},
          {"thermal_resistance", "K/W", "of the fit, where the board measures its power"},
          {"thermal_rise", "K", "of the fit from rest to full load, where it does not"},
          {"time_constant", "s", "of the fit"},
          {"base_temperature", "Cel", "of the fit, without power"},
          {"steady_temperature", "Cel", "of the fit, where it ends up at the most power seen"}};
}

Probe thermal_sample_probe() {
  return {.name = "thermal.sample",
          .summary = "temperature and clock beside whatever step runs",
          .parameters = {},
          .measurements = thermal_watch_measurements(),
          .preflight = nullptr,
          .run = nullptr,
          .monitor = make_thermal_monitor};
}

}  // namespace assay::probes
