// Something at work beside a test: a sensor, a thermometer, a writer of logs.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <stop_token>
#include <thread>
#include <utility>

namespace assay::test {

// Calls work(0), work(1), ... from a thread of its own, once a period, until it is gone; that does
// not wait for the period's end. What `work` refers to must live longer.
class Every {
 public:
  Every(std::chrono::milliseconds period, std::function<void(int)> work)
      : thread_([period, work = std::move(work)](const std::stop_token& stop) {
          std::mutex mutex;
          std::condition_variable_any stopped;
          std::unique_lock lock(mutex);
          for (int i = 0; !stop.stop_requested(); ++i) {
            work(i);
            stopped.wait_for(lock, stop, period, [] { return false; });
          }
        }) {}

 private:
  std::jthread thread_;
};

}  // namespace assay::test
