#include "base/worker_pool.h"

#include <gtest/gtest.h>

#include <random>
#include <set>
#include <thread>

namespace assay {
namespace {

class WorkerPoolOfSize : public testing::TestWithParam<unsigned> {};

TEST_P(WorkerPoolOfSize, runsEveryWorkerOnceInItsOwnThread) {
  WorkerPool pool(GetParam());
  const unsigned size = pool.size();
  if (GetParam() != 0) {
    EXPECT_EQ(size, GetParam());
  } else {
    EXPECT_EQ(size, usable_processors());
  }
  std::vector<std::thread::id> first(size);
  pool.run([&](unsigned worker) { first[worker] = std::this_thread::get_id(); });
  EXPECT_EQ(first[0], std::this_thread::get_id());
  EXPECT_EQ(std::set<std::thread::id>(first.begin(), first.end()).size(), size);
  // And in the same one the next time.
  std::vector<std::thread::id> second(size);
  pool.run([&](unsigned worker) { second[worker] = std::this_thread::get_id(); });
  EXPECT_EQ(first, second);
}

TEST_P(WorkerPoolOfSize, showsMemoryBothWaysOverManyGenerations) {
  WorkerPool pool(GetParam());
  // Plain memory on purpose: the pool alone orders it.
  std::vector<std::uint64_t> cells(pool.size(), 0);
  std::uint64_t given = 0;
  for (std::uint64_t generation = 1; generation <= 2'000; ++generation) {
    given = generation;
    pool.run([&](unsigned worker) { cells[worker] = cells[worker] + given; });
    for (const std::uint64_t cell : cells) {
      ASSERT_EQ(cell, generation * (generation + 1) / 2);
    }
  }
}

TEST_P(WorkerPoolOfSize, endsWithoutEverHavingRun) {
  const WorkerPool pool(GetParam());
}

TEST_P(WorkerPoolOfSize, comesAndGoesQuickly) {
  for (int i = 0; i < 50; ++i) {
    WorkerPool pool(GetParam());
    std::atomic<unsigned> calls{0};
    pool.run([&](unsigned) { ++calls; });
    ASSERT_EQ(calls, pool.size());
  }
}

// 0: one for each processor. 17: more than the processors of a small machine.
INSTANTIATE_TEST_SUITE_P(WorkerPool, WorkerPoolOfSize, testing::Values(0U, 1U, 2U, 3U, 17U));

TEST(WorkerPool, waitsForTheSlowestWorker) {
  WorkerPool pool(4);
  for (unsigned slow = 0; slow < pool.size(); ++slow) {
    std::atomic<unsigned> others{0};
    bool slow_done = false;
    pool.run([&](unsigned worker) {
      if (worker != slow) {
        ++others;
        return;
      }
      while (others != pool.size() - 1) std::this_thread::yield();
      slow_done = true;
    });
    ASSERT_TRUE(slow_done);
  }
}

TEST(ShareOf, coversEverythingOnceInMultiplesOfTheGrain) {
  std::mt19937_64 random(3);
  for (int round = 0; round < 5'000; ++round) {
    const std::size_t total = random() >> (16 + random() % 48);
    const auto workers = static_cast<unsigned>(1 + random() % 200);
    const std::size_t grain = std::size_t{1} << (random() % 20);
    std::size_t at = 0;
    for (unsigned worker = 0; worker < workers; ++worker) {
      const Share share = share_of(total, worker, workers, grain);
      ASSERT_EQ(share.first, at);
      ASSERT_LE(share.first, share.last);
      if (share.last != total) {
        ASSERT_EQ(share.last % grain, 0U);
      }
      at = share.last;
    }
    ASSERT_EQ(at, total);
  }
}

TEST(ShareOf, isFairToOneGrain) {
  for (const std::size_t total : {0U, 1U, 63U, 64U, 65U, 1000U, 4096U}) {
    for (const unsigned workers : {1U, 2U, 3U, 7U, 64U}) {
      const std::size_t grains = (total + 63) / 64;
      for (unsigned worker = 0; worker < workers; ++worker) {
        const Share share = share_of(total, worker, workers, 64);
        const std::size_t own = (share.last - share.first + 63) / 64;
        EXPECT_GE(own, grains / workers);
        EXPECT_LE(own, (grains + workers - 1) / workers);
      }
    }
  }
}

}  // namespace
}  // namespace assay
