#include "probes/log/free_memory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace assay::probes {
namespace {

constexpr std::uint64_t kib = 1024;

// The sums stand in the lines themselves: the kernel worked them out.
TEST(FreeMemory, readsTheListsOfEachPageSize) {
  FreeMemory four;
  EXPECT_TRUE(
      four.add("Node 0 DMA: 1*4kB (U) 0*8kB 0*16kB 1*32kB (U) 2*64kB (U) 1*128kB (U) 1*256kB (U) "
               "0*512kB 1*1024kB (U) 1*2048kB (M) 3*4096kB (M) = 15908kB"));
  EXPECT_EQ(four.page_bytes(), 4 * kib);
  EXPECT_EQ(four.free_bytes(), 15908 * kib);
  FreeMemory sixteen;
  EXPECT_TRUE(
      sixteen.add("Node 0 Normal: 3*16kB (UM) 0*32kB 1*64kB (M) 0*128kB 0*256kB 0*512kB "
                  "0*1024kB 0*2048kB 0*4096kB 0*8192kB 0*16384kB 1*32768kB (C) = 32880kB"));
  EXPECT_EQ(sixteen.page_bytes(), 16 * kib);
  EXPECT_EQ(sixteen.free_bytes(), 32880 * kib);
  FreeMemory sixty_four;
  EXPECT_TRUE(
      sixty_four.add("Node 1 DMA32: 2*64kB (M) 1*128kB (U) 0*256kB 1*524288kB (M) = "
                     "524544kB"));
  EXPECT_EQ(sixty_four.page_bytes(), 64 * kib);
  EXPECT_EQ(sixty_four.free_bytes(), 524544 * kib);
  EXPECT_EQ(sixty_four.zones()[0].node, 1);
  EXPECT_EQ(sixty_four.zones()[0].name, "DMA32");
  EXPECT_TRUE(sixty_four.is_whole());
}

// A kernel without NUMA says no node; one before 3.9 no types.
TEST(FreeMemory, readsOlderAndSmallerKernels) {
  FreeMemory list;
  EXPECT_TRUE(list.add("DMA: 1611*4kB (UMEC) 1072*8kB (UMEC) 544*16kB (UMEC) = 23724kB"));
  EXPECT_TRUE(list.add("Normal: 2*4kB 1*8kB = 16kB"));
  EXPECT_EQ(list.free_bytes(), (23724 + 16) * kib);
  EXPECT_EQ(list.usable_for("").usable_bytes, (23724 + 16) * kib);
}

TEST(FreeMemory, takesOnlyItsOwnLinesAndEachZoneOnce) {
  FreeMemory list;
  for (const char* other :
       {"", "Node 0 DMA32 free:5612kB min:3728kB", "lowmem_reserve[]: 0 2928 2928",
        "Node 0 hugepages_total=0 hugepages_free=0 hugepages_surp=0 hugepages_size=2048kB",
        "Node 0 DMA32: nothing", "Node x DMA: 1*4kB = 4kB", ": 1*4kB = 4kB", "Tasks state (memory)",
        "Node 0 DMA: 1*0kB = 0kB", "Node 0 DMA: 1*99999999999999999999kB = 0kB",
        "1012736 pages RAM"}) {
    EXPECT_FALSE(list.add(other)) << other;
  }
  EXPECT_TRUE(list.empty());
  EXPECT_FALSE(list.page_bytes());
  EXPECT_TRUE(list.add("Node 0 DMA: 1*4kB (U) = 4kB"));
  EXPECT_TRUE(list.add("Node 0 DMA: 9*4kB (U) = 36kB"));
  EXPECT_TRUE(list.add("Node 1 DMA: 1*4kB (U) = 4kB"));
  EXPECT_EQ(list.free_bytes(), 8 * kib);
  EXPECT_TRUE(list.add("131072 pages cma reserved"));
  EXPECT_EQ(list.cma_pages(), 131072U);
}

TEST(FreeMemory, aLineThatIsCutOffSaysAtLeast) {
  FreeMemory list;
  EXPECT_TRUE(list.add("DMA: 1*4kB (UMEC) 25*512kB (>"));
  EXPECT_EQ(list.free_bytes(), (4 + 25 * 512) * kib);
  EXPECT_FALSE(list.is_whole());
}

// include/linux/gfp.h: a request for a low zone cannot be served by a higher one, and CMA's blocks
// serve movable pages alone.
TEST(FreeMemory, countsWhatARequestMayHave) {
  FreeMemory list;
  list.add("Node 0 DMA: 1*4kB (U) 0*8kB = 4kB");
  list.add("Node 0 DMA32: 0*4kB 3*8kB (UM) 1*4096kB (C) = 4120kB");
  list.add("Node 0 Normal: 0*4kB 0*8kB 1*2048kB (M) 2*4096kB (H) = 10240kB");
  list.add("Node 0 Movable: 1*8192kB (M) = 8192kB");
  const UsableMemory dma = list.usable_for("0xcc1(GFP_KERNEL|GFP_DMA)");
  EXPECT_EQ(dma.zones, "DMA");
  EXPECT_EQ(dma.free_bytes, 4 * kib);
  const UsableMemory dma32 = list.usable_for("0xcc4(GFP_KERNEL|GFP_DMA32)");
  EXPECT_EQ(dma32.zones, "DMA, DMA32");
  EXPECT_EQ(dma32.free_bytes, 4124 * kib);
  EXPECT_EQ(dma32.usable_bytes, 28 * kib);
  EXPECT_EQ(dma32.largest_bytes, 8 * kib);
  const UsableMemory kernel = list.usable_for("0x6000c0(GFP_KERNEL)");
  EXPECT_EQ(kernel.zones, "DMA, DMA32, Normal");
  EXPECT_EQ(kernel.largest_bytes, 2048 * kib);
  const UsableMemory user = list.usable_for("0x100cca(GFP_HIGHUSER_MOVABLE)");
  EXPECT_EQ(user.zones, "");
  EXPECT_EQ(user.largest_bytes, 8192 * kib);
  // Flags as a number alone: any zone may serve.
  EXPECT_EQ(list.usable_for("0x20").free_bytes, list.free_bytes());
}

TEST(FreeMemory, hugeNumbersDoNotWrap) {
  FreeMemory list;
  EXPECT_TRUE(
      list.add("Node 0 DMA: 18446744073709551615*4kB (U) 18446744073709551615*8kB (U) = 0kB"));
  EXPECT_EQ(list.free_bytes(), UINT64_MAX);
}

}  // namespace
}  // namespace assay::probes
