#include <fmt/core.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <thread>

#include "base/clock.h"
#include "probes/thermal/sensor_list.h"
#include "probes/thermal/settling.h"
#include "probes/thermal/thermal.h"
#include "probes/thermal/thermal_limits.h"
#include "probes/thermal/thermal_watch.h"
#include "probes/thermal/thermal_zones.h"

namespace assay::probes {
namespace {

constexpr std::int64_t default_watch_time_ns = 60 * ns_per_s;
constexpr auto watch_interval = std::chrono::milliseconds(100);
// Before the load, at least: a fit needs to see what comes from it.
constexpr std::int64_t least_rest_ns = 2 * ns_per_s;
// What may still be to come of a temperature that counts as settled.
constexpr double settled_within_k = 0.5;

// Heats the board as long as it lives: all units of its NPU, and of this machine's processors all
// that there are. A board that is not this machine is not heated by them.
class FullLoad {
 public:
  explicit FullLoad(const Bench& bench) : npu_(bench.npu) {
    npu_.set_active_units(npu_.units());
    if (!bench.machine.is_real()) return;
    burner_ = std::jthread([this, &workers = bench.workers] {
      workers.run([this](unsigned) {
        // Dependent multiplications keep the floating-point units busy and touch no memory.
        volatile double kept = 0;
        double a = 1.0000001;
        double b = 0.9999999;
        while (!stop_.load(std::memory_order_relaxed)) {
          for (int i = 0; i < 100'000; ++i) {
            a = a * 1.0000001 + 1e-9;
            b = b * 0.9999999 + 1e-9;
          }
          if (a > 1e100) a = 1;
          kept = a + b;
        }
        (void)kept;
      });
    });
  }
  ~FullLoad() {
    stop_ = true;
    if (burner_.joinable()) burner_.join();
    npu_.set_active_units(0);
  }
  FullLoad(const FullLoad&) = delete;
  FullLoad& operator=(const FullLoad&) = delete;

 private:
  runtime::NpuDevice& npu_;
  std::atomic<bool> stop_{false};
  std::jthread burner_;
};

enum class Sampled { whole, cancelled };

// Samples under a load until the time is over, or `enough` says so.
Result<Sampled> sample_for(StepContext& context, ThermalWatch& watch, double load,
                           std::int64_t time_ns, const std::function<bool()>& enough) {
  const std::int64_t start = monotonic_ns();
  for (;;) {
    if (auto sampled = watch.sample(load); !sampled) return std::unexpected(sampled.error());
    const std::int64_t elapsed = monotonic_ns() - start;
    context.recorder.progress(static_cast<std::uint64_t>(elapsed / ns_per_ms),
                              static_cast<std::uint64_t>(time_ns / ns_per_ms),
                              load > 0 ? "under load" : "at rest, until it has settled");
    if (context.cancelled()) return Sampled::cancelled;
    if (elapsed >= time_ns || enough()) return Sampled::whole;
    std::this_thread::sleep_for(watch_interval);
  }
}

// Where no profile says which zone is the board's: the first one that reads a temperature.
std::optional<ThermalProfile> some_zone(const Machine& machine) {
  for (const ThermalZone& zone : thermal_inventory(machine).zones) {
    const auto mc = machine.read_integer(zone.file());
    if (mc && is_plausible(*mc)) return ThermalProfile{.zone = zone.name};
  }
  return std::nullopt;
}

Result<> run_thermal_watch(StepContext& context) {
  const BoardProfile& board = context.bench.board;
  const auto thermal = board.thermal ? board.thermal : some_zone(context.bench.machine);
  if (!thermal) {
    context.recorder.skip("this machine has no thermal zone");
    return {};
  }
  if (!context.bench.machine.exists(temperature_file(thermal->zone))) {
    return fail(ErrorKind::unavailable, "the board's thermal zone is not there",
                temperature_file(thermal->zone));
  }
  const auto time_ns = static_cast<std::int64_t>(
      context.parameters.number("time", static_cast<std::uint64_t>(default_watch_time_ns)));
  ThermalWatch watch(context.bench.machine, context.recorder, *thermal,
                     {temperature_limits(board, thermal->zone), {}});
  // Without a golden board: a load that is as long as it should be takes five time constants.
  const double time_constant_s =
      thermal->golden ? thermal->golden->time_s : static_cast<double>(time_ns) / 5e9;
  SettlingTest settling(settled_within_k / time_constant_s);
  auto sampled = sample_for(context, watch, 0, least_rest_ns + time_ns / 2, [&] {
    if (watch.last_c()) settling.add(monotonic_ns(), *watch.last_c());
    return settling.settled();
  });
  if (sampled && *sampled == Sampled::whole) {
    if (!settling.settled()) {
      context.recorder.log(reports::Severity::info,
                           "the temperature at rest has not settled: the figures are less certain");
    }
    const FullLoad load(context.bench);
    watch.load_begins(settling.settled());
    sampled = sample_for(context, watch, 1, time_ns, [] { return false; });
  }
  if (!sampled) return std::unexpected(sampled.error());
  watch.finish();
  if (*sampled == Sampled::cancelled) return {};
  const auto& fit = watch.fit();
  if (!fit) {
    context.recorder.log(reports::Severity::warning,
                         "the course tells no resistance and no time constant: it was too short, "
                         "or the load heats too little");
    return {};
  }
  if (!thermal->golden) {
    context.recorder.log(reports::Severity::info,
                         "the profile has no golden board's figures: these are not judged");
  }
  if (!watch.fit_has_power()) {
    context.recorder.log(reports::Severity::info,
                         "the board measures no power: its rise is fitted, not its resistance");
  }
  context.recorder.headline(fmt::format("{:.3g} {} {:.3g} s", fit->resistance,
                                        watch.fit_has_power() ? "K/W" : "K", fit->time_s));
  return {};
}

}  // namespace

Probe thermal_watch_probe() {
  return {.name = "thermal.watch",
          .summary = "heat, clock and throttling under full load, and the fit of how it warms",
          .parameters = {{"time", ParameterType::duration,
                          "of the load, at least three time constants"}},
          .measurements = thermal_watch_measurements(),
          .preflight = nullptr,
          .run = run_thermal_watch,
          .monitor = nullptr};
}

}  // namespace assay::probes
