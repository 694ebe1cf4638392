// Cancelling: one thread asks, others look. A token may have parents and is cancelled with either:
// a step stops when its run does, a run when its journal cannot be written.
#pragma once

#include <atomic>
#include <cstdint>

#include "base/clock.h"

namespace assay {

// What waits for something else looks at its token this often.
inline constexpr std::int64_t cancel_interval_ns = 50 * ns_per_ms;

class CancelToken {
 public:
  CancelToken() = default;
  explicit CancelToken(const CancelToken* parent, const CancelToken* other = nullptr)
      : parent_(parent), other_(other) {}
  CancelToken(const CancelToken&) = delete;
  CancelToken& operator=(const CancelToken&) = delete;

  // Safe from any thread and from a signal handler.
  void cancel() noexcept { cancelled_.store(true, std::memory_order_relaxed); }
  // From then on the token counts as cancelled. 0 means never.
  void set_deadline(std::int64_t monotonic_deadline_ns) noexcept {
    deadline_ns_.store(monotonic_deadline_ns, std::memory_order_relaxed);
  }

  bool cancelled() const noexcept {
    return cancelled_.load(std::memory_order_relaxed) || timed_out() ||
           (parent_ != nullptr && parent_->cancelled()) ||
           (other_ != nullptr && other_->cancelled());
  }
  bool timed_out() const noexcept {
    const std::int64_t deadline = deadline_ns_.load(std::memory_order_relaxed);
    return deadline != 0 && monotonic_ns() >= deadline;
  }

 private:
  const CancelToken* parent_ = nullptr;
  const CancelToken* other_ = nullptr;
  std::atomic<bool> cancelled_{false};
  std::atomic<std::int64_t> deadline_ns_{0};
};

}  // namespace assay
