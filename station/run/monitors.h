// The monitors of one step: made when it begins, sampled from a thread of their own until it ends.
#pragma once

#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "base/cancel.h"
#include "probes/framework/context.h"
#include "station/config/plan.h"

namespace assay::station {

class MonitorThread {
 public:
  // A monitor that has nothing to sample on this machine is left out. A monitor of the plan that
  // may stop the step cancels `step_cancel` when the step failed while it sampled.
  MonitorThread(const std::vector<PlanMonitor>& plan, const probes::Bench& bench,
                reports::StepRecorder& recorder, CancelToken& step_cancel);
  // Samples once more, then ends the series.
  ~MonitorThread();
  // Monitors of the plan that have limits and nothing to sample here: what they limit is not
  // judged.
  const std::vector<std::string>& unobserved() const { return unobserved_; }
  MonitorThread(const MonitorThread&) = delete;
  MonitorThread& operator=(const MonitorThread&) = delete;

 private:
  struct Entry {
    std::string name;
    std::unique_ptr<probes::Monitor> monitor;
    std::int64_t interval_ns = 0;
    std::int64_t due_ns = 0;
    bool stops_step = false;
    bool broken = false;
  };
  void sample(Entry& entry);
  void loop(const std::stop_token& stop);

  reports::StepRecorder& recorder_;
  CancelToken& step_cancel_;
  std::vector<Entry> entries_;
  std::vector<std::string> unobserved_;
  std::jthread thread_;
};

}  // namespace assay::station
