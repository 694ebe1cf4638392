#include "probes/memory/frame_coverage.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include "probes/memory/edac.h"
#include "probes/memory/ram.h"
#include "tests/base/scratch.h"

namespace assay::probes {
namespace {

TEST(PageMap, tellsFramesOfPagesThatAreThereAndNoneElse) {
  const auto map = PageMap::open();
  if (!map) {
    // Only root is told frames; anyone else hears that.
    EXPECT_EQ(map.error().kind, ErrorKind::unavailable);
    EXPECT_NE(geteuid(), 0U) << map.error().text();
    return;
  }
  const std::size_t page = PageMap::page_bytes();
  auto* data = static_cast<std::byte*>(
      mmap(nullptr, 4 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  ASSERT_NE(data, MAP_FAILED);
  madvise(data, 4 * page, MADV_NOHUGEPAGE);
  data[page] = std::byte{1};
  EXPECT_FALSE(map->physical_address(data + 2 * page));
  const auto physical = map->physical_address(data + page + 123);
  ASSERT_TRUE(physical);
  EXPECT_EQ(*physical % page, 123U);
  const auto frames = map->frames({data, 4 * page});
  ASSERT_TRUE(frames);
  ASSERT_EQ(frames->size(), 4U);
  EXPECT_EQ((*frames)[1], *physical / page);
  EXPECT_EQ((*frames)[2], 0U);
  munmap(data, 4 * page);
}

TEST(PageMap, halfOfTheMemoryLiesInRunsOfTheTypicalLength) {
  EXPECT_EQ(typical_run_bytes({}, 4096), 0U);
  const std::uint64_t one_run[] = {5, 6, 7, 8};
  EXPECT_EQ(typical_run_bytes(one_run, 4096), 4U * 4096);
  const std::uint64_t scattered[] = {5, 9, 7, 20};
  EXPECT_EQ(typical_run_bytes(scattered, 4096), 4096U);
  const std::uint64_t mixed[] = {1, 2, 3, 50, 60, 70};
  EXPECT_EQ(typical_run_bytes(mixed, 4096), 3U * 4096);
  // Unknown frames follow nothing.
  const std::uint64_t unknown[] = {0, 0, 0, 0};
  EXPECT_EQ(typical_run_bytes(unknown, 4096), 4096U);
}

TEST(FrameCoverage, countsEachFrameOnce) {
  FrameCoverage coverage;
  const std::uint64_t first[] = {1, 2, 3, 0, 0, ~std::uint64_t{0}};
  const std::uint64_t second[] = {3, 4, 1'000'000};
  coverage.add(first);
  EXPECT_EQ(coverage.unique(), 3U);
  coverage.add(second);
  coverage.add(second);
  EXPECT_EQ(coverage.unique(), 5U);
}

TEST(PresentFrames, areTheSumOfAllZones) {
  const test::Scratch root;
  const Machine machine(root.root());
  EXPECT_FALSE(present_frames(machine));
  root.write("proc/zoneinfo",
             "Node 0, zone      DMA\n  pages free     2816\n        present  3998\n"
             "        managed  3840\nNode 0, zone   Normal\n        present  5505024\n");
  EXPECT_EQ(present_frames(machine), 3998U + 5505024U);
  for (const char* wrong : {"", "Node 0\n        present  x\n", "Node 0\n        present  0\n",
                            "Node 0\n        present  99999999999999999999\n"}) {
    root.write("proc/zoneinfo", wrong);
    EXPECT_FALSE(present_frames(machine)) << wrong;
  }
}

TEST(Edac, isTheSumOfAllControllersOrUnknown) {
  const test::Scratch root;
  const Machine machine(root.root());
  EXPECT_FALSE(read_edac(machine));
  root.write("sys/devices/system/edac/mc/power/control", "auto\n");
  EXPECT_FALSE(read_edac(machine));
  for (const char* controller : {"mc0", "mc1"}) {
    root.write(std::string("sys/devices/system/edac/mc/") + controller + "/ce_count", "3\n");
    root.write(std::string("sys/devices/system/edac/mc/") + controller + "/ue_count", "1\n");
  }
  const auto counts = read_edac(machine);
  ASSERT_TRUE(counts);
  EXPECT_EQ(counts->corrected, 6U);
  EXPECT_EQ(counts->uncorrected, 2U);
  root.write("sys/devices/system/edac/mc/mc1/ce_count", "many\n");
  EXPECT_EQ(read_edac(machine)->corrected, 3U);
}

}  // namespace
}  // namespace assay::probes
