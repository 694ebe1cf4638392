#include "probes/fragmentation/frame_runs.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>

#include "probes/fragmentation/buddyinfo.h"
#include "tests/base/scratch.h"

namespace assay::probes {
namespace {

// Bits of /proc/kpageflags (Documentation/admin-guide/mm/pagemap.rst).
constexpr std::uint64_t lru = 1U << 5;
constexpr std::uint64_t slab = 1U << 7;
constexpr std::uint64_t buddy = 1U << 10;
constexpr std::uint64_t unevictable = 1U << 18;
constexpr std::uint64_t mlocked = std::uint64_t{1} << 33;

TEST(FrameRuns, areTheLongestOfFreeAndOfMovableFrames) {
  FrameRuns runs;
  const std::uint64_t flags[] = {buddy, slab, buddy, buddy, lru,           buddy, buddy,
                                 buddy, slab, lru,   lru,   lru | mlocked, lru,   lru | unevictable,
                                 buddy, buddy};
  runs.add(flags);
  EXPECT_EQ(runs.free().first, 5U);
  EXPECT_EQ(runs.free().frames, 3U);
  EXPECT_EQ(runs.movable().first, 2U);
  EXPECT_EQ(runs.movable().frames, 6U);
  EXPECT_EQ(runs.frames(), 16U);
}

// A file is read in pieces.
TEST(FrameRuns, goOnAcrossPieces) {
  const std::uint64_t some[] = {slab, buddy, buddy};
  const std::uint64_t more[] = {buddy, buddy, slab};
  FrameRuns runs;
  runs.add(some);
  runs.add(more);
  EXPECT_EQ(runs.free().first, 1U);
  EXPECT_EQ(runs.free().frames, 4U);
}

TEST(FrameRuns, ofNoFramesAreNone) {
  const FrameRuns runs;
  EXPECT_EQ(runs.free().frames, 0U);
  EXPECT_EQ(runs.movable().frames, 0U);
}

TEST(FrameRuns, aFileIsReadWholeAndOneThatEndsWithinAnEntryIsRefused) {
  const test::Scratch scratch;
  const CancelToken never;
  EXPECT_EQ(read_frame_runs(Machine(scratch.root()), never, nullptr).error().kind,
            ErrorKind::unavailable);
  // More than one read of the file takes.
  std::vector<std::uint64_t> flags(200'000, buddy);
  flags[100'000] = slab;
  std::string bytes(flags.size() * 8, '\0');
  std::memcpy(bytes.data(), flags.data(), bytes.size());
  scratch.write("proc/kpageflags", bytes);
  std::uint64_t shown = 0;
  const auto runs = read_frame_runs(Machine(scratch.root()), never,
                                    [&](std::uint64_t frames) { shown = frames; });
  ASSERT_TRUE(runs) << runs.error().text();
  EXPECT_EQ(runs->free().frames, 100'000U);
  EXPECT_EQ(runs->free().first, 0U);
  EXPECT_EQ(shown, 200'000U);
  scratch.write("proc/kpageflags", "abc");
  EXPECT_EQ(read_frame_runs(Machine(scratch.root()), never, nullptr).error().kind,
            ErrorKind::protocol);
  CancelToken cancelled;
  cancelled.cancel();
  EXPECT_EQ(read_frame_runs(Machine(scratch.root()), cancelled, nullptr).error().kind,
            ErrorKind::cancelled);
}

// At least one of the largest blocks that the page allocator lists is there as a run.
TEST(FrameRuns, ofThisMachineHoldItsLargestFreeBlock) {
  const CancelToken never;
  const Machine machine;
  const auto text = machine.read("/proc/buddyinfo");
  const auto runs = read_frame_runs(machine, never, nullptr);
  if (!runs && runs.error().kind == ErrorKind::unavailable) {
    GTEST_SKIP() << "frames are told to root only: " << runs.error().text();
  }
  ASSERT_TRUE(text && runs);
  const auto info = parse_buddyinfo(*text);
  ASSERT_TRUE(info);
  // Between the two readings the largest blocks may be split: an eighth of one is left of it.
  EXPECT_GE(runs->free().frames, (std::uint64_t{1} << info->largest_order()) / 8);
  EXPECT_GE(runs->movable().frames, runs->free().frames);
}

}  // namespace
}  // namespace assay::probes
