// Threads that run the same function at once, each on its share: the memory test's passes, the
// runtime's kernels.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace assay {

class WorkerPool {
 public:
  // 0 threads means one for each processor this process may use. The caller's thread is worker 0;
  // the others are pinned to processors when there are enough of them.
  explicit WorkerPool(unsigned threads = 0);
  ~WorkerPool();
  WorkerPool(const WorkerPool&) = delete;
  WorkerPool& operator=(const WorkerPool&) = delete;

  unsigned size() const { return static_cast<unsigned>(threads_.size()) + 1; }

  // Calls work(0) .. work(size() - 1), each once and in its own thread; returns when all are done.
  // Not re-entrant. What the workers wrote is visible to the caller, and the other way round.
  void run(const std::function<void(unsigned worker)>& work);

 private:
  void loop(unsigned worker);

  std::vector<std::jthread> threads_;
  std::mutex mutex_;
  std::condition_variable wake_;
  const std::function<void(unsigned)>* work_ = nullptr;
  std::atomic<std::size_t> generation_{0};
  std::atomic<unsigned> running_{0};
  bool stopping_ = false;
};

// Processors that this process may run on.
unsigned usable_processors();

// [first, last) of `total` items for one of `workers`, multiples of `grain` but for the last.
struct Share {
  std::size_t first;
  std::size_t last;
};
Share share_of(std::size_t total, unsigned worker, unsigned workers, std::size_t grain = 1);

}  // namespace assay
