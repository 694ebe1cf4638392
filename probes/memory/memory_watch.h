// Looks, while a test holds memory, whether the rest of the system still has enough. All of what a
// test has is locked: a kernel that has none left would kill the largest process. The test gives
// back what it can do without, and ends when that is not enough.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <mutex>

#include "base/cancel.h"
#include "base/result.h"
#include "probes/memory/ram.h"

namespace assay::probes {

class MemoryWatch {
 public:
  // Gives back memory that the test can do without, in the thread that looks, which may be a
  // worker; no two at once. False when there is none.
  using GiveBack = std::function<bool()>;

  // Both are used until the watch is destroyed.
  MemoryWatch(const Ram& ram, const CancelToken& cancel, GiveBack give_back = nullptr)
      : ram_(ram), give_back_(std::move(give_back)), stop_(&cancel) {}

  // Cheap: looks no more often than five times a second. From any thread.
  void look();

  // Cancelled with the token given, or when memory is short.
  const CancelToken& stop() const { return stop_; }
  bool is_short() const { return short_; }
  // "other programs took the machine's memory: ... was left. Stopped <when> ..."
  Error error(const std::string& when) const;

 private:
  const Ram& ram_;
  GiveBack give_back_;
  CancelToken stop_;
  std::mutex looking_;
  std::atomic<std::int64_t> last_look_ns_{0};
  std::atomic<bool> short_{false};
  std::uint64_t left_ = 0;  // when short_ was set
};

}  // namespace assay::probes
