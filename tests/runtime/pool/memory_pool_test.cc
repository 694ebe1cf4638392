#include "runtime/pool/memory_pool.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "base/machine.h"
#include "base/page_map.h"
#include "runtime/pool/huge_page_counts.h"

namespace assay::runtime {
namespace {

using testing::Each;
using testing::HasSubstr;

constexpr std::uint64_t mib = std::uint64_t{1} << 20;
constexpr std::uint64_t mib_page = 2 * mib;

bool is_zero(std::span<const std::byte> memory) {
  return std::all_of(memory.begin(), memory.end(), [](std::byte b) { return b == std::byte{0}; });
}

std::int64_t pool_size(std::uint64_t page_bytes) {
  return Machine()
      .read_integer("/sys/kernel/mm/hugepages/hugepages-" + std::to_string(page_bytes >> 10) +
                    "kB/nr_hugepages")
      .value_or(0);
}

TEST(PoolPages, areAsManyAsWereAskedForWithoutGapsAndZero) {
  const auto pages = PoolPages::take(70 * mib + 1);
  ASSERT_TRUE(pages) << pages.error().text();
  const auto memory = (*pages)->memory();
  EXPECT_EQ(memory.size(), 70 * mib + 4096);
  EXPECT_TRUE(is_zero(memory));
  const PageShares& shares = (*pages)->shares();
  EXPECT_EQ(shares.gib + shares.mib + shares.plain, memory.size());
  std::uint64_t at = 0;
  for (const PhysicalRun& run : (*pages)->runs()) {
    ASSERT_EQ(run.offset, at);
    at += run.bytes;
  }
  EXPECT_EQ(at, memory.size());
  // Each page of it can be written, and is another one.
  for (std::uint64_t i = 0; i < memory.size(); i += 4096) std::memcpy(&memory[i], &i, sizeof i);
  for (std::uint64_t i = 0; i < memory.size(); i += 4096) {
    ASSERT_EQ(std::memcmp(&memory[i], &i, sizeof i), 0) << i;
  }
}

// The page map says it of each page anew.
TEST(PoolPages, runsArePhysicallyContiguousAndInTheirOrder) {
  const auto map = PageMap::open();
  if (geteuid() != 0) GTEST_SKIP() << "frames are told to root only";
  ASSERT_TRUE(map);
  const auto pages = PoolPages::take(96 * mib);
  ASSERT_TRUE(pages);
  ASSERT_TRUE((*pages)->frames_known());
  const auto frames = map->frames((*pages)->memory());
  ASSERT_TRUE(frames);
  std::uint64_t huge_frame_before = 0;
  for (const PhysicalRun& run : (*pages)->runs()) {
    const std::uint64_t first = (*frames)[run.offset / 4096];
    ASSERT_NE(first, 0U);
    for (std::uint64_t i = 0; i < run.bytes / 4096; ++i) {
      ASSERT_EQ((*frames)[run.offset / 4096 + i], first + i) << run.offset;
    }
    if (run.offset >= (*pages)->shares().mib) continue;
    EXPECT_GT(first, huge_frame_before);
    huge_frame_before = first;
  }
}

TEST(PoolPages, growTheKernelsPoolOfHugePagesAndGiveItBack) {
  if (geteuid() != 0) GTEST_SKIP() << "needs root: it changes nr_hugepages";
  const std::int64_t before = pool_size(mib_page);
  {
    const auto pages = PoolPages::take(64 * mib);
    ASSERT_TRUE(pages);
    EXPECT_GT((*pages)->shares().mib, 0U);
    EXPECT_GE(pool_size(mib_page), static_cast<std::int64_t>((*pages)->shares().mib / mib_page));
  }
  EXPECT_EQ(pool_size(mib_page), before);
}

// A user without rights gets no huge page where none is free, and many a machine has none of 1 GiB.
TEST(PoolPages, areOfTheSizesThatAreLeftWhereTheKernelGivesNoneOfOne) {
  const auto take_it_all = [](std::uint64_t bytes) {
    const auto pages = PoolPages::take(bytes);
    if (!pages) {
      std::fprintf(stderr, "%s\n", pages.error().text().c_str());
      ::_exit(1);
    }
    ::_exit((*pages)->memory().size() == bytes && is_zero((*pages)->memory()) ? 0 : 2);
  };
  EXPECT_EXIT(
      {
        if (geteuid() == 0 && seteuid(65'534) != 0) ::_exit(3);
        take_it_all(70 * mib);
      },
      testing::ExitedWithCode(0), "");
  EXPECT_EXIT(take_it_all(1024 * mib + mib_page), testing::ExitedWithCode(0), "");
}

TEST(PoolPages, noneAndMoreThanThereIsAreRefused) {
  EXPECT_EQ(PoolPages::take(0).error().kind, ErrorKind::usage);
  EXPECT_EQ(PoolPages::take(std::uint64_t{1} << 60).error().kind, ErrorKind::usage);
}

TEST(PreallocatedHugePages, areThereForAPoolThatComesLater) {
  if (geteuid() != 0) GTEST_SKIP() << "needs root: it changes nr_hugepages";
  const std::int64_t before = pool_size(mib_page);
  ASSERT_EQ(preallocate_huge_pages(64 * mib), 64 * mib);
  const std::int64_t grown = pool_size(mib_page);
  EXPECT_GE(grown, static_cast<std::int64_t>(64 * mib / mib_page));
  {
    const auto pool = MemoryPool::create(64 * mib);
    ASSERT_TRUE(pool);
    EXPECT_EQ((*pool)->shares().mib, 64 * mib);
    EXPECT_EQ(pool_size(mib_page), grown);
  }
  EXPECT_EQ(pool_size(mib_page), grown);
  (void)resize_huge_page_pool(Machine(), mib_page, before - grown);
}

class MemoryPoolTest : public testing::Test {
 protected:
  MemoryPoolTest() : pool_(MemoryPool::create(64 * mib).value()) {}
  std::unique_ptr<MemoryPool> pool_;
};

TEST_F(MemoryPoolTest, aMappingIsZeroAndItsOwn) {
  const auto a = pool_->map(3 * mib, Placement::scattered);
  const auto b = pool_->map(5 * mib + 1, Placement::scattered);
  ASSERT_TRUE(a && b);
  EXPECT_EQ(a->memory.size(), 3 * mib);
  EXPECT_EQ(b->memory.size(), 5 * mib + 1);
  EXPECT_TRUE(is_zero(a->memory));
  std::fill(a->memory.begin(), a->memory.end(), std::byte{0xFF});
  EXPECT_TRUE(is_zero(b->memory));
  EXPECT_EQ(pool_->info().live_mappings, 2U);
  EXPECT_EQ(pool_->info().total_bytes, 64 * mib);
  EXPECT_LE(pool_->info().free_bytes, 56 * mib);
}

TEST_F(MemoryPoolTest, aContiguousMappingIsOneRunAndNoLargerThanTheLargest) {
  const std::uint64_t largest = pool_->info().largest_free_block_bytes;
  ASSERT_GE(largest, 4096U);
  const auto whole = pool_->map(largest, Placement::contiguous);
  ASSERT_TRUE(whole) << whole.error().text();
  EXPECT_EQ(whole->blocks, 1U);
  pool_->unmap(whole->id);
  pool_->flush();
  const auto more = pool_->map(largest + 1, Placement::contiguous);
  ASSERT_FALSE(more);
  EXPECT_EQ(more.error().kind, ErrorKind::exhausted);
  EXPECT_THAT(more.error().what, HasSubstr("npu_dma_map_error: cannot map"));
}

TEST_F(MemoryPoolTest, whatAFinishedTaskLeftIsThereAgainAfterAFlushAndZero) {
  const auto all = pool_->map(64 * mib, Placement::scattered);
  ASSERT_TRUE(all);
  std::fill(all->memory.begin(), all->memory.end(), std::byte{0xA5});
  pool_->unmap(all->id);
  EXPECT_EQ(pool_->info().free_bytes, 0U);
  EXPECT_FALSE(pool_->map(4096, Placement::scattered));
  pool_->flush();
  EXPECT_EQ(pool_->info().free_bytes, 64 * mib);
  const auto again = pool_->map(64 * mib, Placement::scattered);
  ASSERT_TRUE(again);
  EXPECT_TRUE(is_zero(again->memory));
}

TEST_F(MemoryPoolTest, mappingsInTheMiddleCutTheFreeBlockAndAFlushJoinsItsParts) {
  std::vector<Mapping> mappings;
  for (int i = 0; i < 16; ++i) {
    mappings.push_back(pool_->map(4 * mib, Placement::scattered).value());
  }
  for (std::size_t i = 0; i < mappings.size(); i += 2) pool_->unmap(mappings[i].id);
  pool_->flush();
  EXPECT_EQ(pool_->info().free_bytes, 32 * mib);
  EXPECT_LE(pool_->info().largest_free_block_bytes, 4 * mib);
  EXPECT_FALSE(pool_->map(5 * mib, Placement::scattered));
  for (std::size_t i = 1; i < mappings.size(); i += 2) pool_->unmap(mappings[i].id);
  pool_->flush();
  EXPECT_TRUE(pool_->map(64 * mib, Placement::scattered));
}

TEST_F(MemoryPoolTest, isNotDefragmentedWhileMappingsLive) {
  const auto live = pool_->map(4096, Placement::contiguous);
  ASSERT_TRUE(live);
  live->memory[0] = std::byte{7};
  const auto refused = pool_->defragment();
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, ErrorKind::usage);
  EXPECT_THAT(refused.error().text(), HasSubstr("1 live mappings"));
  EXPECT_EQ(live->memory[0], std::byte{7});
  pool_->unmap(live->id);
  ASSERT_TRUE(pool_->defragment());
  EXPECT_EQ(pool_->info().free_bytes, 64 * mib);
  EXPECT_TRUE(pool_->map(64 * mib, Placement::scattered));
}

TEST_F(MemoryPoolTest, zeroBytesAreWrongUse) {
  EXPECT_EQ(pool_->map(0, Placement::contiguous).error().kind, ErrorKind::usage);
  EXPECT_EQ(MemoryPool::create(0).error().kind, ErrorKind::usage);
}

}  // namespace
}  // namespace assay::runtime
