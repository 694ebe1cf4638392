#include "probes/fragmentation/buddyinfo.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "probes/fragmentation/fragmentation.h"
#include "tests/probes/bench_fixture.h"

namespace assay::probes {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// As kernel 4.19 prints it on a small board: 11 orders.
constexpr const char* kernel_4_19 =
    "Node 0, zone      DMA      1      1      1      0      2      1      1      0      1      1   "
    "   3 \n"
    "Node 0, zone   Normal   4381   1093    185   1530    567    102      4      0      0      0   "
    "   0 \n";

// As kernel 6.x prints it: two NUMA nodes, 13 orders (a larger MAX_ORDER), a movable zone without
// a free page.
constexpr const char* kernel_6_two_nodes =
    "Node 0, zone      DMA      0      0      0      0      0      0      0      0      1      1   "
    "   2      0      0 \n"
    "Node 0, zone    DMA32      9      8     10      7      9      7      8      8      7      9   "
    " 467      0      0 \n"
    "Node 1, zone   Normal    153      1    174    101     52     31      9      4      2      1   "
    "   0      0      5 \n"
    "Node 1, zone  Movable      0      0      0      0      0      0      0      0      0      0   "
    "   0      0      0 \n";

TEST(BuddyInfo, readsAnyNumberOfNodesZonesAndOrders) {
  const auto old_kernel = parse_buddyinfo(kernel_4_19);
  ASSERT_TRUE(old_kernel);
  ASSERT_EQ(old_kernel->zones.size(), 2U);
  EXPECT_EQ(old_kernel->zones[0].zone, "DMA");
  EXPECT_THAT(old_kernel->zones[0].blocks, ElementsAre(1, 1, 1, 0, 2, 1, 1, 0, 1, 1, 3));
  EXPECT_EQ(old_kernel->largest_order(), 10);

  const auto new_kernel = parse_buddyinfo(kernel_6_two_nodes);
  ASSERT_TRUE(new_kernel);
  ASSERT_EQ(new_kernel->zones.size(), 4U);
  EXPECT_EQ(new_kernel->zones[2].node, 1);
  EXPECT_EQ(new_kernel->zones[2].zone, "Normal");
  EXPECT_EQ(new_kernel->zones[2].blocks.size(), 13U);
  EXPECT_EQ(new_kernel->zones[3].zone, "Movable");
  EXPECT_EQ(new_kernel->largest_order(), 12);
}

TEST(BuddyInfo, sumsFreeMemory) {
  // By hand: 1+2+4+32+32+64+256+512+3*1024 pages.
  const auto dma =
      parse_buddyinfo(std::string(kernel_4_19).substr(0, std::string(kernel_4_19).find('\n')));
  ASSERT_TRUE(dma);
  EXPECT_EQ(dma->free_bytes(4096), 3975U * 4096);
  EXPECT_EQ(dma->free_bytes(65536), 3975U * 65536);
}

TEST(BuddyInfo, unusableIndexIsTheKernels) {
  // 8 blocks of order 0, 4 of order 1, 2 of order 2: 8 + 8 + 8 pages.
  const auto info = parse_buddyinfo("Node 0, zone Normal 8 4 2\n");
  ASSERT_TRUE(info);
  EXPECT_DOUBLE_EQ(info->unusable_index(0), 0);
  EXPECT_DOUBLE_EQ(info->unusable_index(1), 8.0 / 24);
  EXPECT_DOUBLE_EQ(info->unusable_index(2), 16.0 / 24);
  EXPECT_DOUBLE_EQ(info->unusable_index(3), 1);
  // Zones add up: 24 more pages in one block of order 3 and 16 pages in order 4.
  const auto both = parse_buddyinfo("Node 0, zone Normal 8 4 2\nNode 1, zone Normal 0 0 0 1 1\n");
  ASSERT_TRUE(both);
  EXPECT_DOUBLE_EQ(both->unusable_index(3), 24.0 / 48);
  // mm/vmstat.c: no free memory is interpreted as all of it being unusable.
  const auto empty = parse_buddyinfo("Node 0, zone Normal 0 0 0\n");
  ASSERT_TRUE(empty);
  EXPECT_DOUBLE_EQ(empty->unusable_index(0), 1);
  EXPECT_EQ(empty->largest_order(), -1);
  EXPECT_EQ(empty->free_bytes(4096), 0U);
}

TEST(BuddyInfo, takesCrLfBlankLinesAndNoLastNewline) {
  const auto info = parse_buddyinfo("\r\nNode 0, zone Normal 1 2\r\n\r\nNode 0, zone DMA\t3 4");
  ASSERT_TRUE(info);
  ASSERT_EQ(info->zones.size(), 2U);
  EXPECT_THAT(info->zones[0].blocks, ElementsAre(1, 2));
  EXPECT_THAT(info->zones[1].blocks, ElementsAre(3, 4));
}

TEST(BuddyInfo, refusesGarbageAndNamesTheLine) {
  for (const char* text :
       {"", "\n\n", "garbage\n", "Node 0, zone\n", "Node 0, zone Normal\n",
        "Node 0 zone Normal 1\n", "Node x, zone Normal 1\n", "Node 0, zone Normal 1 x 2\n",
        "Node 0, zone Normal -1\n", "Node 0, zone Normal 1.5\n", "Node 0, zone Normal 0x10\n",
        "node 0, zone Normal 1\n", "Node 0, zone Normal 18446744073709551616\n",
        "Node 0, zone Normal 18446744073709551615\n", "Node 0, zone Normal 2199023255552\n",
        "Node 99999999999, zone Normal 1\n"}) {
    const auto info = parse_buddyinfo(text);
    ASSERT_FALSE(info) << text;
    EXPECT_EQ(info.error().kind, ErrorKind::protocol);
    EXPECT_EQ(info.error().where, "/proc/buddyinfo");
  }
  EXPECT_FALSE(parse_buddyinfo(std::string("Node 0, zone Normal 1\0002\n", 25)));
  const auto second = parse_buddyinfo("Node 0, zone Normal 1\nNode 0, zone DMA\n");
  ASSERT_FALSE(second);
  EXPECT_THAT(second.error().what, HasSubstr("line 2"));
  std::string orders = "Node 0, zone Normal";
  for (int i = 0; i < 64; ++i) orders += " 0";
  EXPECT_TRUE(parse_buddyinfo(orders));
  EXPECT_FALSE(parse_buddyinfo(orders + " 0"));
}

TEST(BuddyInfo, cutAnywhereItIsReadOrRefused) {
  const std::string text = kernel_6_two_nodes;
  const auto whole = parse_buddyinfo(text);
  for (std::size_t length = 0; length < text.size(); ++length) {
    const auto info = parse_buddyinfo(text.substr(0, length));
    if (!info) continue;
    ASSERT_LE(info->zones.size(), whole->zones.size());
    ASSERT_LE(info->free_bytes(4096), whole->free_bytes(4096));
  }
}

TEST(Fragmentation, measuresTheLargestBlockInTheBoardsPages) {
  test::BenchFixture bench;
  bench.board.memory = MemoryProfile{.total_bytes = std::uint64_t{32} << 30, .page_bytes = 4096};
  bench.write("/proc/buddyinfo", kernel_6_two_nodes);
  auto outcome = bench.run(fragmentation_probe());
  EXPECT_EQ(outcome.step.state, reports::StepState::pass);
  EXPECT_EQ(outcome.number("largest_order"), 12);
  // Order 12 of 4 KiB pages is 16 MiB.
  EXPECT_EQ(outcome.number("largest_free_block"), 16.0 * 1024 * 1024);
  bench.board.memory->page_bytes = 65536;
  EXPECT_EQ(bench.run(fragmentation_probe()).number("largest_free_block"), 256.0 * 1024 * 1024);
  bench.board.memory->page_bytes = 16384;
  EXPECT_EQ(bench.run(fragmentation_probe()).number("largest_free_block"), 64.0 * 1024 * 1024);
}

TEST(Fragmentation, cannotTestWithoutTheFileOrWithGarbage) {
  test::BenchFixture bench;
  auto outcome = bench.run(fragmentation_probe());
  EXPECT_EQ(outcome.step.state, reports::StepState::error);
  EXPECT_EQ(outcome.result.error().kind, ErrorKind::unavailable);
  bench.write("/proc/buddyinfo", "garbage\n");
  EXPECT_EQ(bench.run(fragmentation_probe()).step.state, reports::StepState::error);
}

TEST(Fragmentation, theMonitorFollowsTheFile) {
  test::BenchFixture bench;
  bench.board.memory = MemoryProfile{.total_bytes = std::uint64_t{32} << 30, .page_bytes = 4096};
  bench.write("/proc/buddyinfo", "Node 0, zone Normal 0 0 1\n");
  const auto outcome = bench.monitor(fragmentation_probe(), [&](Monitor& monitor) {
    ASSERT_TRUE(monitor.sample());
    bench.write("/proc/buddyinfo", "Node 0, zone Normal 4 0 0\n");
    ASSERT_TRUE(monitor.sample());
    bench.write("/proc/buddyinfo", "");
    EXPECT_FALSE(monitor.sample());
  });
  EXPECT_THAT(outcome.series("largest_free_block")->recent, ElementsAre(16384, 4096));
  test::BenchFixture without;
  const auto none = without.monitor(fragmentation_probe(), [](Monitor&) { FAIL(); });
  EXPECT_EQ(none.result.error().kind, ErrorKind::unavailable);
}

}  // namespace
}  // namespace assay::probes
