// Watches the board's temperature and clock while something heats it: what is outside its limits is
// told at once, what only the whole course tells at the end (time to throttle, a stuck sensor, the
// thermal fit against a golden board's).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "probes/framework/context.h"
#include "probes/thermal/sensor_history.h"
#include "probes/thermal/sensor_list.h"
#include "probes/thermal/thermal_diagnosis.h"
#include "probes/thermal/thermal_fit.h"

namespace assay::probes {

struct WatchLimits {
  std::vector<reports::Validator> temperature;
  std::vector<reports::Validator> frequency;
};

// Used by one thread. What it is made of outlives it.
class ThermalWatch {
 public:
  // `thermal` says which zone and clock; `limits` are held besides the clock's.
  ThermalWatch(const Machine& machine, reports::StepRecorder& recorder,
               const ThermalProfile& thermal, WatchLimits limits);

  // Reads once. `load`, 0 to 1, is what the caller asks of the board, where it knows; it stands for
  // the power of a board that measures none. Errors: those of reading; a busy sensor is none.
  Result<> sample(std::optional<double> load = std::nullopt);
  // The time to throttle counts from here, else from when the watch was made. `settled`: all
  // samples so far were of one steady temperature.
  void load_begins(bool settled);
  // What all samples tell. Once, behind the last one.
  void finish();

  // The last temperature that was one.
  std::optional<double> last_c() const {
    return history_.count() > 0 ? std::optional(static_cast<double>(history_.last_mc()) / 1000)
                                : std::nullopt;
  }
  // What finish() found; none when the course did not tell.
  const std::optional<ThermalFit>& fit() const { return fit_; }
  bool fit_has_power() const { return has_power_; }

 private:
  void add_temperature(std::int64_t mc, std::int64_t now_ns, std::optional<double> load);
  void add_frequency(std::int64_t hz, std::optional<std::int64_t> mc, std::int64_t now_ns);
  void report_throttle(std::optional<std::int64_t> mc, std::int64_t hz);
  void report_wrong_clock(std::int64_t hz);
  void report_throttle_lines();
  bool report_sensor();
  void report_fit();

  const Machine& machine_;
  reports::StepRecorder& recorder_;
  const ThermalProfile& thermal_;
  std::vector<HwmonSensor> power_sensors_;
  std::uint64_t log_mark_;  // where the kernel log ended when the watch began
  std::string limits_text_;
  std::unique_ptr<reports::Series> temperature_;
  std::unique_ptr<reports::Series> frequency_;
  SensorHistory history_;
  ThermalCourse course_;
  std::optional<ThermalFit> fit_;
  bool has_power_ = false;
  bool starts_settled_ = false;
  std::int64_t start_ns_ = 0;
  std::int64_t load_ns_ = 0;
  std::optional<std::int64_t> throttled_ns_;  // after load_ns_
  std::size_t busy_ = 0;                      // readings in a row
  bool implausible_reported_ = false;
  bool over_limit_reported_ = false;
  bool clock_reported_ = false;
};

}  // namespace assay::probes
