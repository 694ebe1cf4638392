#include "probes/thermal/calibration_source.h"

#include <fmt/core.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <span>
#include <thread>
#include <utility>

#include "base/clock.h"
#include "base/units.h"
#include "probes/thermal/sensor_reading.h"
#include "probes/thermal/settling.h"
#include "probes/thermal/thermal_limits.h"
#include "probes/thermal/thermometer_line.h"

namespace assay::probes {
namespace {

constexpr std::int64_t sampling_ns = 100 * ns_per_ms;
constexpr std::size_t longest_line = 256;
// Lines in a row that are no temperatures: it is another device, or another rate.
constexpr std::size_t most_strange_lines = 20;

std::unexpected<Error> was_cancelled() {
  return fail(ErrorKind::cancelled, "the calibration was cancelled");
}

// The board's sensor, read again and again, and whether it has settled.
class LiveSensor {
 public:
  explicit LiveSensor(const Machine& machine, const SourceSettings& settings)
      : machine_(machine), settings_(settings), settling_(settings.settled_k_per_s) {}

  Result<> sample() {
    const SensorReading reading = read_sensor(machine_, settings_.sensor_file);
    if (!reading.mc && reading.error_number == EAGAIN) return {};
    if (!reading.mc) return std::unexpected(reading.error);
    if (const auto verdict = judge_reading(*reading.mc); verdict.fault != ReadingFault::none) {
      return fail(ErrorKind::protocol,
                  fmt::format("reads {:.3f} C: {}", celsius(*reading.mc), verdict.why),
                  settings_.sensor_file, "a sensor that is broken cannot be calibrated");
    }
    const std::int64_t now = monotonic_ns();
    settling_.add(now, celsius(*reading.mc));
    if (settling_.settled()) {
      settled_ns_ = now;
    } else if (now - settled_ns_ > settings_.settle_time_ns) {
      return fail(ErrorKind::timeout,
                  fmt::format("the temperature has not settled in {}: it moves by {:.2f} +- {:.2f} "
                              "K/min",
                              format_seconds(settings_.settle_time_ns),
                              settling_.slope_k_per_s() * 60, settling_.u_slope_k_per_s() * 120),
                  settings_.sensor_file, "keep the load constant; wait longer with --settle-time");
    }
    last_c_ = celsius(*reading.mc);
    return {};
  }

  bool settled() const { return settling_.settled(); }
  double last_c() const { return last_c_; }
  double mean_c() const { return settling_.mean_c(); }

 private:
  const Machine& machine_;
  const SourceSettings& settings_;
  SettlingTest settling_;
  std::int64_t settled_ns_ = monotonic_ns();
  double last_c_ = 0;
};

// Cuts a stream of bytes into lines. The first one may have begun before the port was opened.
class LineCutter {
 public:
  std::vector<std::string> add(std::span<const std::uint8_t> bytes) {
    std::vector<std::string> lines;
    for (const std::uint8_t byte : bytes) {
      if (byte == '\n' || byte == '\r') {
        if (!line_.empty() && whole_) lines.push_back(line_);
        line_.clear();
        whole_ = true;
      } else if (line_.size() < longest_line) {
        line_ += static_cast<char>(byte);
      }
    }
    return lines;
  }

 private:
  std::string line_;
  bool whole_ = false;
};

}  // namespace

Result<std::vector<ReadingPair>> pairs_from_thermometer(StepContext& context,
                                                        firmware::Transport& thermometer,
                                                        const SourceSettings& settings) {
  LiveSensor sensor(context.bench.machine, settings);
  SettlingTest reference(settings.settled_k_per_s);
  LineCutter cutter;
  std::vector<ReadingPair> pairs;
  std::size_t strange = 0;
  // Of the last reading, or of the last pair.
  std::int64_t heard_ns = monotonic_ns();
  std::int64_t taken_ns = heard_ns;
  while (pairs.size() < settings.readings) {
    if (context.cancelled()) return was_cancelled();
    context.recorder.progress(pairs.size(), settings.readings,
                              sensor.settled() && reference.settled()
                                  ? "taking readings"
                                  : "waiting until the temperature has settled");
    if (auto sampled = sensor.sample(); !sampled) return std::unexpected(sampled.error());
    std::uint8_t buffer[512];
    const auto count = thermometer.read(buffer, monotonic_ns() + sampling_ns);
    const std::int64_t now = monotonic_ns();
    if (!count && count.error().kind != ErrorKind::timeout) {
      return std::unexpected(count.error());
    }
    if (!count) {
      if (now - heard_ns > settings.settle_time_ns) {
        return fail(ErrorKind::timeout, "no temperature came", thermometer.name(),
                    "check port and rate, and that the thermometer sends by itself");
      }
      continue;
    }
    for (const std::string& line : cutter.add({buffer, *count})) {
      const auto reference_c = parse_thermometer_line(line);
      if (!reference_c) {
        if (++strange < most_strange_lines) continue;
        return fail(ErrorKind::protocol, reference_c.error().what, thermometer.name(),
                    "check the rate: PORT@BAUD");
      }
      strange = 0;
      heard_ns = now;
      reference.add(now, *reference_c);
      if (sensor.settled() && reference.settled() && pairs.size() < settings.readings) {
        pairs.push_back({sensor.last_c(), *reference_c, std::nullopt});
        taken_ns = now;
      }
    }
    if (now - taken_ns > settings.settle_time_ns) {
      return fail(ErrorKind::timeout,
                  fmt::format("the reference has not settled in {}: it moves by {:.2f} +- {:.2f} "
                              "K/min",
                              format_seconds(settings.settle_time_ns),
                              reference.slope_k_per_s() * 60, reference.u_slope_k_per_s() * 120),
                  thermometer.name(), "keep the load constant; wait longer with --settle-time");
    }
  }
  return pairs;
}

Result<std::vector<ReadingPair>> pairs_from_person(StepContext& context, Prompt& prompt,
                                                   const SourceSettings& settings) {
  LiveSensor sensor(context.bench.machine, settings);
  const bool has_sensor = !settings.sensor_file.empty();
  std::vector<ReadingPair> pairs;
  bool asked = false;
  bool told_to_wait = false;
  for (;;) {
    if (context.cancelled()) return was_cancelled();
    context.recorder.progress(pairs.size(), 0, "readings typed");
    if (has_sensor) {
      if (auto sampled = sensor.sample(); !sampled) return std::unexpected(sampled.error());
    }
    const bool ready = !has_sensor || sensor.settled();
    if (!ready && !std::exchange(told_to_wait, true)) {
      prompt.show("waiting until the temperature has settled ...");
    }
    if (ready && !std::exchange(asked, true)) {
      prompt.show(
          fmt::format("reading {}: what does the reference thermometer show, in C? (empty: "
                      "enough)",
                      pairs.size() + 1));
    }
    // What is typed before it has settled waits.
    if (!asked) {
      std::this_thread::sleep_for(std::chrono::nanoseconds(sampling_ns));
      continue;
    }
    const auto line = prompt.next_line(monotonic_ns() + sampling_ns);
    if (!line && line.error().kind == ErrorKind::timeout) continue;
    if (!line) return std::unexpected(line.error());
    if (!*line || (*line)->find_first_not_of(" \t\r") == std::string::npos) return pairs;
    asked = false;
    const auto typed = parse_typed_reading(**line);
    if (!typed) {
      prompt.show(typed.error().text());
      continue;
    }
    if (!typed->sensor_c && !ready) {
      told_to_wait = false;
      prompt.show("the temperature has moved since: this reading does not count");
      continue;
    }
    if (!typed->sensor_c && !has_sensor) {
      prompt.show(
          "no sensor of this machine is read: type sensor and reference, such as 44.3 46.1");
      continue;
    }
    pairs.push_back({typed->sensor_c.value_or(sensor.mean_c()), typed->reference_c, std::nullopt});
  }
}

}  // namespace assay::probes
