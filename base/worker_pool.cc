#include "base/worker_pool.h"

#include <pthread.h>
#include <sched.h>

#include <algorithm>

namespace assay {
namespace {

std::vector<int> processors() {
  cpu_set_t set;
  CPU_ZERO(&set);
  std::vector<int> found;
  if (sched_getaffinity(0, sizeof set, &set) == 0) {
    for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
      if (CPU_ISSET(cpu, &set)) found.push_back(cpu);
    }
  }
  if (found.empty()) found.push_back(0);
  return found;
}

void pin(std::jthread& thread, int cpu) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(cpu, &set);
  // A container may forbid it; then the kernel places the thread.
  (void)pthread_setaffinity_np(thread.native_handle(), sizeof set, &set);
}

// A kernel of the runtime lasts tens of microseconds, a futex wake-up as long: spin first.
constexpr int spins_before_sleep = 20'000;

void relax() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

}  // namespace

unsigned usable_processors() {
  return static_cast<unsigned>(processors().size());
}

WorkerPool::WorkerPool(unsigned threads) {
  const std::vector<int> cpus = processors();
  const unsigned count = threads == 0 ? static_cast<unsigned>(cpus.size()) : threads;
  for (unsigned worker = 1; worker < count; ++worker) {
    threads_.emplace_back([this, worker] { loop(worker); });
    if (count <= cpus.size()) pin(threads_.back(), cpus[worker]);
  }
}

WorkerPool::~WorkerPool() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    generation_.fetch_add(1, std::memory_order_release);
  }
  wake_.notify_all();
  // Joined here: the mutex and the condition that they wait on go before threads_ does.
  threads_.clear();
}

void WorkerPool::run(const std::function<void(unsigned)>& work) {
  if (threads_.empty()) {
    work(0);
    return;
  }
  {
    const std::lock_guard lock(mutex_);
    work_ = &work;
    running_.store(static_cast<unsigned>(threads_.size()), std::memory_order_relaxed);
    generation_.fetch_add(1, std::memory_order_release);
  }
  wake_.notify_all();
  work(0);
  for (int spin = 0; running_.load(std::memory_order_acquire) != 0; ++spin) {
    if (spin < spins_before_sleep) {
      relax();
    } else {
      std::this_thread::yield();
    }
  }
}

void WorkerPool::loop(unsigned worker) {
  std::size_t seen = 0;
  for (;;) {
    for (int spin = 0;
         spin < spins_before_sleep && generation_.load(std::memory_order_acquire) == seen; ++spin) {
      relax();
    }
    const std::function<void(unsigned)>* work = nullptr;
    {
      std::unique_lock lock(mutex_);
      wake_.wait(lock, [&] { return generation_.load(std::memory_order_relaxed) != seen; });
      seen = generation_.load(std::memory_order_relaxed);
      if (stopping_) return;
      work = work_;
    }
    (*work)(worker);
    running_.fetch_sub(1, std::memory_order_release);
  }
}

Share share_of(std::size_t total, unsigned worker, unsigned workers, std::size_t grain) {
  const std::size_t grains = (total + grain - 1) / grain;
  const std::size_t first = grains * worker / workers * grain;
  const std::size_t last = grains * (worker + 1) / workers * grain;
  return {std::min(first, total), std::min(last, total)};
}

}  // namespace assay
