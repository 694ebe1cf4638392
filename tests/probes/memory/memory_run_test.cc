#include "probes/memory/memory_run.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <mutex>
#include <vector>

#include "base/worker_pool.h"
#include "probes/memory/ram.h"

namespace assay::probes {
namespace {

// Iterations of one chain of patterns share a pass: what verifies the last pattern of one writes
// the first of the next, and the very last verification stands behind all iterations.
TEST(MemoryRun, everyPassBelongsToAnIterationThatWasAskedFor) {
  constexpr std::uint64_t iterations = 3;
  WorkerPool workers(2);
  const auto region =
      RamRegion::allocate(std::size_t{1} << 20, workers, [](std::size_t) { return true; });
  ASSERT_TRUE(region);
  const std::vector<Algorithm> tests = {make_algorithm("0xAAAAAAAA").value()};
  const CancelToken cancel;
  MemoryRun run(region->bytes(), tests, {}, workers, nullptr, cancel);
  std::mutex mutex;
  std::vector<std::uint64_t> seen;
  run.on_progress = [&](std::uint64_t, const std::string&) {
    const std::lock_guard lock(mutex);
    seen.push_back(run.iteration());
  };
  for (std::uint64_t i = 1; i <= iterations; ++i)
    ASSERT_EQ(run.iterate(i), MemoryRun::Iteration::whole);
  const std::size_t before_the_end = seen.size();
  ASSERT_TRUE(run.finish());
  EXPECT_GT(seen.size(), before_the_end) << "nothing was left to verify: not the case meant";
  EXPECT_TRUE(std::is_sorted(seen.begin(), seen.end()));
  EXPECT_EQ(seen.front(), 1U);
  EXPECT_EQ(seen.back(), iterations);
}

}  // namespace
}  // namespace assay::probes
