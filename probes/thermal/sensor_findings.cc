#include "probes/thermal/sensor_findings.h"

#include <fmt/core.h>

#include "probes/thermal/thermal_limits.h"

namespace assay::probes {

reports::Finding sensor_implausible(const std::string& label, const std::string& file,
                                    std::int64_t mc, const ReadingVerdict& verdict) {
  return {.code = verdict.fault == ReadingFault::wrong_unit ? "THERMAL_SENSOR_UNIT"
                                                            : "THERMAL_SENSOR_IMPLAUSIBLE",
          .message = fmt::format("{} reads {:.3f} C: {}.", label, celsius(mc), verdict.why),
          .where = label,
          .evidence = {fmt::format("{}: {}", file, mc)}};
}

reports::Finding sensor_jumping(const std::string& label, const std::string& file,
                                const SensorHistory& history) {
  return {.code = "THERMAL_SENSOR_JUMPING",
          .message = fmt::format(
              "{} jumped away and back by more than {:.0f} C {} times in {} readings, between "
              "{:.1f} and {:.1f} C.",
              label, celsius(SensorHistory::jump_mc), history.jumps(), history.count(),
              celsius(history.least_mc()), celsius(history.most_mc())),
          .where = label,
          .evidence = {
              fmt::format("{}: least {}, most {}", file, history.least_mc(), history.most_mc())}};
}

reports::Finding sensor_stuck(const std::string& label, const std::string& file,
                              const SensorHistory& history, const std::string& why) {
  return {
      .code = "THERMAL_SENSOR_STUCK",
      .message = fmt::format("{} stays at {:.3f} C: {}.", label, celsius(history.last_mc()), why),
      .where = label,
      .evidence = {fmt::format("{}: {} in each of the last readings of {}", file, history.last_mc(),
                               history.count())}};
}

reports::Finding sensor_drifted(const std::string& label, double off_k,
                                std::vector<std::string> evidence) {
  return {.code = "THERMAL_SENSOR_DRIFT",
          .message = fmt::format("{} reads about {:.1f} C too {}, by a golden board's figures.",
                                 label, off_k < 0 ? -off_k : off_k, off_k < 0 ? "low" : "high"),
          .where = label,
          .evidence = std::move(evidence)};
}

reports::Finding sensor_gain_off(const std::string& label, double ratio,
                                 std::vector<std::string> evidence) {
  return {.code = "THERMAL_SENSOR_DRIFT",
          .message = fmt::format("{} shows {:.0f} % of a golden board's rise for the same heat, as "
                                 "fast: its gain is off.",
                                 label, 100 * ratio),
          .where = label,
          .evidence = std::move(evidence)};
}

}  // namespace assay::probes
