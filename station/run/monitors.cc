#include "station/run/monitors.h"

#include <algorithm>
#include <condition_variable>
#include <mutex>

#include "base/clock.h"

namespace assay::station {

MonitorThread::MonitorThread(const std::vector<PlanMonitor>& plan, const probes::Bench& bench,
                             reports::StepRecorder& recorder, CancelToken& step_cancel)
    : recorder_(recorder), step_cancel_(step_cancel) {
  for (const PlanMonitor& planned : plan) {
    auto monitor = planned.probe->monitor({bench, recorder, planned.limits});
    if (!monitor) {
      if (monitor.error().kind != ErrorKind::unavailable) {
        recorder.error("monitor", planned.probe->name + ": " + monitor.error().text());
      } else {
        recorder.log(reports::Severity::debug,
                     planned.probe->name + " is not observed: " + monitor.error().text());
        if (!planned.limits.empty()) {
          unobserved_.push_back(planned.probe->name + ": " + monitor.error().text());
        }
      }
      continue;
    }
    entries_.push_back({planned.probe->name, std::move(*monitor),
                        static_cast<std::int64_t>(static_cast<double>(ns_per_s) / planned.hz), 0,
                        planned.stops_step, false});
  }
  if (!entries_.empty()) {
    thread_ = std::jthread([this](const std::stop_token& stop) { loop(stop); });
  }
}

MonitorThread::~MonitorThread() {
  if (!thread_.joinable()) return;
  thread_.request_stop();
  thread_.join();
  for (Entry& entry : entries_) {
    sample(entry);
    if (!entry.broken) entry.monitor->finish();
  }
}

void MonitorThread::sample(Entry& entry) {
  if (entry.broken) return;
  const bool failed_before = recorder_.failed();
  if (const auto sampled = entry.monitor->sample(); !sampled) {
    // A sensor that cannot be read is no temperature: the step was not observed.
    entry.broken = true;
    recorder_.error("monitor", entry.name + ": " + sampled.error().text());
  }
  if (entry.stops_step && !failed_before && recorder_.failed()) step_cancel_.cancel();
}

void MonitorThread::loop(const std::stop_token& stop) {
  std::mutex mutex;
  std::condition_variable_any wake;
  std::unique_lock lock(mutex);
  while (!stop.stop_requested()) {
    const std::int64_t now = monotonic_ns();
    std::int64_t next = now + ns_per_s;
    for (Entry& entry : entries_) {
      if (entry.due_ns <= now) {
        sample(entry);
        entry.due_ns = now + entry.interval_ns;
      }
      next = std::min(next, entry.due_ns);
    }
    wake.wait_for(lock, stop, std::chrono::nanoseconds(next - now), [] { return false; });
  }
}

}  // namespace assay::station
