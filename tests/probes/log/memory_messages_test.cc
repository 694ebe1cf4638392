// Memory that could not be had: sizes worked out from the log's own page size, beside what the same
// log says was free.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/probes/log/diagnosed.h"

namespace assay::probes {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

// 4.19, 4 KiB pages: 3.1 GiB free in blocks of up to 64 KiB (the sums are worked out by hand).
constexpr const char* order_nine_4_19 =
    R"([  845.123456] npu_load: page allocation failure: order:9, mode:0x6000c0(GFP_KERNEL), nodemask=(null)
[  845.123460] npu_load cpuset=/ mems_allowed=0
[  845.123470] CPU: 2 PID: 812 Comm: npu_load Not tainted 4.19.172 #38
[  845.123480] Call trace:
[  845.123490]  dump_backtrace+0x0/0x158
[  845.123500]  __alloc_pages_nodemask+0xcec/0xd80
[  845.123510] Mem-Info:
[  845.123520] active_anon:612345 inactive_anon:2345 isolated_anon:0
                free:812500 free_pcp:120 free_cma:0
[  845.123530] Node 0 active_anon:2449380kB inactive_anon:9380kB
[  845.123540] Node 0 DMA32 free:1625000kB min:5632kB low:7040kB high:8448kB
[  845.123550] lowmem_reserve[]: 0 2012 2012
[  845.123560] Node 0 DMA32: 6250*4kB (UME) 12500*8kB (UME) 25000*16kB (UME) 15000*32kB (UM) 9687*64kB (UM) 0*128kB 0*256kB 0*512kB 0*1024kB 0*2048kB 0*4096kB = 1624968kB
[  845.123570] Node 0 Normal: 6250*4kB (UME) 12500*8kB (UME) 25000*16kB (UME) 15000*32kB (UM) 9687*64kB (UM) 0*128kB 0*256kB 0*512kB 0*1024kB 0*2048kB 0*4096kB = 1624968kB
[  845.123580] 12345 total pagecache pages
[  845.123590] 2097152 pages RAM
[  845.123600] 45678 pages reserved
[  845.123610] 16384 pages cma reserved
)";

TEST(PageAllocation, saysWhatWasNeededAndWhatWasFree) {
  const LogFinding found = only_finding(order_nine_4_19);
  EXPECT_EQ(found.finding.code, "PAGE_ALLOC_FAILED");
  EXPECT_EQ(found.finding.where, "order 9");
  EXPECT_THAT(found.finding.message,
              AllOf(HasSubstr("npu_load a block of order 9 = 512 pages of 4 KiB = 2 MiB."),
                    HasSubstr("3.1 GiB was free"),
                    HasSubstr("largest block that it may have was "
                              "64 KiB."),
                    Not(HasSubstr("assumed"))));
  EXPECT_THAT(found.finding.likely, Contains(HasSubstr("in pieces")));
  EXPECT_THAT(found.finding.evidence,
              ElementsAre(HasSubstr("line 1: "), HasSubstr("Node 0 DMA32: 6250*4kB"),
                          HasSubstr("Node 0 Normal: 6250*4kB")));
  const LogResult result = diagnosed(order_nine_4_19);
  EXPECT_EQ(result.page_bytes, 4096U);
  EXPECT_EQ(result.page_size_from, PageSizeFrom::log);
}

// 6.1 with 16 KiB pages: the same order is four times as large.
TEST(PageAllocation, takesThePageSizeFromTheList) {
  const LogFinding sixteen = only_finding(
      "Dec 03 11:53:01 m1 kernel: python3: page allocation failure: order:9, "
      "mode:0x40cc0(GFP_KERNEL|__GFP_COMP), nodemask=(null),cpuset=user.slice,mems_allowed=0\r\n"
      "Dec 03 11:53:01 m1 kernel: CPU: 3 PID: 1201 Comm: python3 Not tainted 6.1.0-asahi #1\r\n"
      "Dec 03 11:53:01 m1 kernel: Mem-Info:\r\n"
      "Dec 03 11:53:01 m1 kernel: Normal: 100*16kB (UM) 200*32kB (UM) 4*4096kB (M) 0*8192kB "
      "2*16384kB (C) = 57152kB\r\n");
  EXPECT_THAT(sixteen.finding.message,
              AllOf(HasSubstr("order 9 = 512 pages of 16 KiB = 8 MiB"),
                    HasSubstr("56 MiB was free (32 MiB of it kept for CMA"),
                    HasSubstr("largest block that it may have was 4 MiB")));
  const LogFinding sixty_four = only_finding(
      "[  100.000001] insmod: page allocation failure: order:5, mode:0xcc0(GFP_KERNEL), "
      "nodemask=(null),cpuset=/,mems_allowed=0-1\n"
      "[  100.000002] Node 0 Normal: 3*64kB (M) 2*128kB (U) 0*256kB 0*512kB 0*1024kB 0*2048kB "
      "0*4096kB 0*524288kB = 448kB\n");
  EXPECT_THAT(sixty_four.finding.message, AllOf(HasSubstr("order 5 = 32 pages of 64 KiB = 2 MiB"),
                                                HasSubstr("Only 448 KiB was free.")));
  EXPECT_THAT(sixty_four.finding.likely, ElementsAre(HasSubstr("used up")));
}

// A device with few address bits: what is free above does not help it.
TEST(PageAllocation, countsOnlyTheZonesThatServeTheRequest) {
  const LogFinding found = only_finding(
      "[    4.795291] swapper/0: page allocation failure: order:2, "
      "mode:0xcc4(GFP_KERNEL|GFP_DMA32), nodemask=(null)\n"
      "[    4.9] Node 0 DMA32: 2*4kB (C) 0*8kB 0*16kB = 8kB\n"
      "[    4.9] Node 0 Normal: 0*4kB 0*8kB 0*16kB 8000*4096kB (M) = 32768000kB\n");
  EXPECT_THAT(found.finding.message,
              HasSubstr("Only 8 KiB was free in the zones that serve it (DMA32)."));
}

TEST(PageAllocation, aBlockThatWasThereWasTheReserve) {
  const LogFinding found = only_finding(
      "ksoftirqd/0: page allocation failure: order:0, mode:0xa20(GFP_ATOMIC), nodemask=(null)\n"
      "DMA: 1611*4kB (UMEC) 1072*8kB (UMEC) = 15020kB\n");
  EXPECT_THAT(found.finding.message,
              HasSubstr("in blocks of up to 8 KiB: large enough, but below"));
  EXPECT_THAT(found.finding.remedy, Contains(HasSubstr("min_free_kbytes")));
}

TEST(PageAllocation, saysWhatTheLogDoesNotSay) {
  const char* const cut = "systemd-cgroups: page allocation failure: order:3, mode:0x20\n";
  const LogFinding assumed = only_finding(cut);
  EXPECT_THAT(assumed.finding.message, AllOf(HasSubstr("order 3 = 8 pages of 4 KiB = 32 KiB"),
                                             HasSubstr("The log does not say what was free."),
                                             HasSubstr("how large a page is: 4 KiB is assumed.")));
  const LogFinding given = only_finding(cut, 65536);
  EXPECT_THAT(given.finding.message,
              AllOf(HasSubstr("8 pages of 64 KiB = 512 KiB"), Not(HasSubstr("assumed"))));
  // The log knows better than the option.
  EXPECT_EQ(diagnosed(order_nine_4_19, 65536).page_bytes, 4096U);
}

// A list of a failure that came before belongs to that one.
TEST(PageAllocation, eachFailureHasItsOwnList) {
  const LogResult result = diagnosed(
      "a: page allocation failure: order:4, mode:0xcc0(GFP_KERNEL), nodemask=(null)\n"
      "Normal: 9*4kB (U) 0*8kB = 36kB\n"
      "b: page allocation failure: order:5, mode:0xcc0(GFP_KERNEL), nodemask=(null)\n"
      "Normal: 1*4kB (U) 0*8kB = 4kB\n"
      "c: page allocation failure: order:5, mode:0xcc0(GFP_KERNEL), nodemask=(null)\n"
      "Normal: 7*4kB (U) 0*8kB = 28kB\n");
  ASSERT_EQ(result.findings.size(), 2U);
  EXPECT_THAT(result.findings[0].finding.message, HasSubstr("Only 36 KiB was free."));
  EXPECT_THAT(result.findings[1].finding.message,
              AllOf(HasSubstr("Only 4 KiB was free."), HasSubstr("Seen 2 times.")));
}

// "(order: 11, 8388608 bytes": 2^11 pages of 4 KiB are 8 MiB (mm/mm_init.c).
TEST(PageSize, isInTheBootLines) {
  struct Boot {
    const char* line;
    std::uint64_t bytes;
  };
  for (const Boot& boot :
       {Boot{"Dentry cache hash table entries: 1048576 (order: 11, 8388608 bytes, linear)", 4096},
        Boot{"Dentry cache hash table entries: 1048576 (order: 11, 8388608 bytes)", 4096},
        Boot{"Dentry cache hash table entries: 2097152 (order: 10, 16777216 bytes, linear)", 16384},
        Boot{"Inode-cache hash table entries: 4194304 (order: 9, 33554432 bytes, vmalloc)", 65536},
        Boot{"futex hash table entries: 256 (order: -1, 32768 bytes, linear)", 65536},
        Boot{"Mount-cache hash table entries: 512 (order: -2, 1024 bytes)", 4096},
        Boot{"booting with 16k pages", 16384}, Boot{"CPU features: 64K pages", 65536}}) {
    const LogResult result = diagnosed(boot.line);
    EXPECT_EQ(result.page_bytes, boot.bytes) << boot.line;
    EXPECT_EQ(result.page_size_from, PageSizeFrom::log) << boot.line;
  }
  for (const char* wrong : {"x hash table entries: 1 (order: 99, 8388608 bytes",
                            "x hash table entries: 1 (order: 1, 99999999999999999999999 bytes",
                            "x hash table entries: 1 (order: -40, 18446744073709551615 bytes",
                            "x hash table entries: 1 (order: 3, 3 bytes"}) {
    EXPECT_EQ(diagnosed(wrong).page_size_from, PageSizeFrom::assumed) << wrong;
  }
}

TEST(Cma, saysTheSizeTheAreaAndWhatWasFree) {
  // 5.12 and later name the area; 2025 pages of 4 KiB are 8,294,400 bytes.
  const LogFinding found = only_finding(
      "[    0.000000] Linux version 6.1.21-v8+ (gcc 8.4.0) #1642\n"
      "[    0.000000] Reserved memory: created CMA memory pool at 0x000000001ec00000, size 256 "
      "MiB\n"
      "[    0.000000] Dentry cache hash table entries: 524288 (order: 10, 4194304 bytes, linear)\n"
      "[    0.100000] Memory: 3604480K/4194304K available (12288K kernel code, 262144K "
      "cma-reserved)\n"
      "[  850.000000] cma: cma_alloc: linux,cma: alloc failed, req-size: 1024 pages, ret: -12\n"
      "[  851.000000] cma: cma_alloc: linux,cma: alloc failed, req-size: 2025 pages, ret: -12\n"
      "[  851.000001] cma: number of available pages: 3@125+20@172+4@316=> 27 free of 65536 total "
      "pages\n");
  EXPECT_EQ(found.finding.code, "CMA_ALLOC_FAILED");
  EXPECT_EQ(found.finding.where, "CMA area linux,cma");
  EXPECT_EQ(found.count, 2U);
  EXPECT_THAT(found.finding.message,
              AllOf(HasSubstr("2025 pages of 4 KiB = 8 MiB"),
                    HasSubstr("Cannot allocate memory "
                              "(-12)"),
                    HasSubstr("The area has 256 MiB; 108 KiB of it was free, the longest run 80 "
                              "KiB."),
                    HasSubstr("3.4 GiB available at its start")));
  EXPECT_THAT(found.finding.evidence,
              ElementsAre(HasSubstr("1024 pages"), HasSubstr("2025 pages")));
  EXPECT_THAT(found.finding.remedy, Contains(HasSubstr("cma=512M")));
}

TEST(Cma, knowsARequestLargerThanTheArea) {
  // 4.19, from a board with 16 MiB of CMA: 16384 pages are 64 MiB.
  const LogFinding found = only_finding(
      "[    0.000000] cma: Reserved 16 MiB at 0x000000003e800000\n"
      "[    0.000000] PID hash table entries: 4096 (order: 3, 32768 bytes)\n"
      "[   60.000000] cma: cma_alloc: alloc failed, req-size: 16384 pages, ret: -12\n");
  EXPECT_EQ(found.finding.where, "");
  EXPECT_THAT(found.finding.message,
              AllOf(HasSubstr("= 64 MiB"), HasSubstr("memory for CMA is 16 MiB in all")));
  EXPECT_THAT(found.finding.likely, ElementsAre(HasSubstr("larger than the whole area")));
  EXPECT_THAT(found.finding.remedy, Contains(HasSubstr("cma=128M")));
}

// kern.log holds many starts, and whoever looks for the right size of the area changes it between.
TEST(Cma, eachStartOfTheKernelHasItsOwnAreaAndPages) {
  const std::string first =
      "Linux version 6.1.0-4k (gcc)\ncma: Reserved 16 MiB at 0x3e800000\n"
      "PID hash table entries: 4096 (order: 3, 32768 bytes)\n"
      "cma: cma_alloc: one: alloc failed, req-size: 16384 pages, ret: -12\n";
  const std::string second =
      "Linux version 6.1.0-16k (gcc)\ncma: Reserved 128 MiB at 0x3e800000\n"
      "PID hash table entries: 4096 (order: 1, 32768 bytes)\n";
  const LogResult result = diagnosed(
      first + second + "cma: cma_alloc: two: alloc failed, req-size: 16384 pages, ret: -12\n");
  EXPECT_THAT(finding_in(result, "CMA_ALLOC_FAILED", "CMA area one").finding.message,
              AllOf(HasSubstr("pages of 4 KiB = 64 MiB"), HasSubstr("CMA is 16 MiB in all")));
  EXPECT_THAT(finding_in(result, "CMA_ALLOC_FAILED", "CMA area two").finding.message,
              AllOf(HasSubstr("pages of 16 KiB = 256 MiB"), HasSubstr("CMA is 128 MiB in all")));
  EXPECT_EQ(result.kernel, "6.1.0-16k");
  EXPECT_EQ(result.page_bytes, 16384U);
  // The same area again: the largest request is told, and the start that it was in.
  EXPECT_THAT(only_finding(first + second +
                           "cma: cma_alloc: one: alloc failed, req-size: 16385 pages, ret: -12\n")
                  .finding.message,
              AllOf(HasSubstr("16385 pages of 16 KiB"), HasSubstr("128 MiB in all"),
                    HasSubstr("Seen 2 times")));
}

TEST(Cma, busyPagesHaveAnotherCause) {
  const LogFinding found =
      only_finding("cma: cma_alloc: reserved: alloc failed, req-size: 8 pages, ret: -16\n");
  EXPECT_THAT(found.finding.likely, ElementsAre(HasSubstr("pinned")));
  EXPECT_THAT(found.finding.message, HasSubstr("4 KiB is assumed"));
}

TEST(BounceBuffers, sayThePoolAndWhatARequestCanHave) {
  // 4.19; then 6.x, which says how many slots were in use.
  const LogFinding small = only_finding(
      "[    0.0] software IO TLB: mapped [mem 0x7b000000-0x7f000000] (64MB)\n"
      "[  100.0] nvme 0000:01:00.0: swiotlb buffer is full (sz: 65536 bytes), total 32768 (slots), "
      "used 32760 (slots)\n");
  EXPECT_EQ(small.finding.code, "SWIOTLB_FULL");
  EXPECT_EQ(small.finding.where, "0000:01:00.0");
  EXPECT_THAT(small.finding.message, AllOf(HasSubstr("64 KiB (65536 bytes)"),
                                           HasSubstr("32760 of 32768 slots of 2 KiB were in use"),
                                           HasSubstr("The pool has 64 MiB.")));
  // 65536 slots of 2 KiB are twice 64 MiB.
  EXPECT_THAT(small.finding.remedy, Contains(HasSubstr("swiotlb=65536 (128 MiB)")));
  const LogFinding large =
      only_finding("[  100.0] usb 1-1: swiotlb buffer is full (sz: 327680 bytes)\n");
  EXPECT_THAT(large.finding.message, HasSubstr("cannot have more than 256 KiB of it"));
  const LogFinding old =
      only_finding("DMA: Out of SW-IOMMU space for 4096 bytes at device 0000:00:14.0\n");
  EXPECT_EQ(old.finding.where, "0000:00:14.0");
}

// An NPU without IOMMU: gigabytes free, and no buffer. The kernel's lines and the runtime's say the
// same failure.
TEST(NpuBuffer, isOneFindingWithTheReason) {
  const LogFinding found = only_finding(
      "01-01 04:00:00.000     0     0 I Memory: 7864320K/8388608K available (15998K kernel code)\n"
      "01-01 04:00:01.000     0     0 I RKNPU fde40000.npu: RKNPU: rknpu iommu is disabled, using "
      "non-iommu mode\n"
      "01-01 04:02:47.025     0     0 W RKNPU fde40000.npu: swiotlb buffer is full (sz: 59187712 "
      "bytes)\n"
      "01-01 04:02:47.025     0     0 W RKNPU fde40000.npu: swiotlb: coherent allocation failed, "
      "size=59187712\n"
      "01-01 04:02:47.100  6912  6912 E RKNN    : failed to allocate handle, ret: -1, errno: 12, "
      "errstr: Cannot allocate memory\n"
      "01-01 04:02:47.100  6912  6912 E RKNN    : failed to malloc npu memory!, size: 59187712, "
      "flags: 0x2\n");
  EXPECT_EQ(found.finding.code, "NPU_BUFFER_REFUSED");
  EXPECT_EQ(found.count, 4U);
  EXPECT_EQ(found.first, "01-01 04:02:47.025");
  EXPECT_THAT(found.finding.message, AllOf(HasSubstr("56 MiB (59187712 bytes)"),
                                           HasSubstr("fde40000.npu runs without an IOMMU"),
                                           HasSubstr("had 7.5 GiB available")));
  EXPECT_THAT(found.finding.likely, ElementsAre(HasSubstr("however much is free")));
  EXPECT_THAT(found.finding.remedy, AllOf(Contains(HasSubstr("IOMMU in the device tree")),
                                          Contains(HasSubstr("cma=128M"))));
}

TEST(NpuBuffer, withAnIommuTheCauseIsAnother) {
  const LogFinding found = only_finding(
      "RKNPU fdab0000.npu: RKNPU: rknpu iommu is enabled, using iommu mode\n"
      "E RKNN: [09:40:45.140] failed to malloc npu memory, size: 3085697024, flags: 0x2\n");
  EXPECT_THAT(found.finding.message, HasSubstr("fdab0000.npu runs with its IOMMU."));
  EXPECT_THAT(found.finding.remedy, Not(Contains(HasSubstr("device tree"))));
}

// Of several lists the one before the failure; of one behind it, its time is told.
TEST(NpuBuffer, theListOfFreeMemoryIsTheNearest) {
  const std::string failure = "[   20.0] npu: npu_dma_map_error: cannot map 8388608 bytes\n";
  const auto list = [](const char* seconds, const char* count) {
    const std::string time = std::string("[   ") + seconds + ".0] ";
    return time + "a: page allocation failure: order:9, mode:0xcc0(GFP_KERNEL), nodemask=(null)\n" +
           time + "Normal: 0*4kB " + count + "*8kB (U) = 8kB\n";
  };
  EXPECT_THAT(
      finding_in(diagnosed(list("10", "1") + failure + list("30", "3")), "NPU_DMA_MAP_ERROR")
          .finding.message,
      HasSubstr("lists 8 KiB free (at 10.0 s after the start), the largest block 8 KiB"));
  EXPECT_THAT(finding_in(diagnosed(failure + list("30", "3")), "NPU_DMA_MAP_ERROR").finding.message,
              HasSubstr("lists 24 KiB free (at 30.0 s after the start)"));
}

TEST(NpuBuffer, theBoardsOwnMessageSaysItsSizeAndWhatWasFree) {
  const LogFinding found = only_finding(
      std::string(order_nine_4_19).substr(std::string(order_nine_4_19).find('\n') + 1) +
      "npu: npu_dma_map_error: cannot map 22870000000 bytes\n");
  EXPECT_EQ(found.finding.code, "NPU_DMA_MAP_ERROR");
  EXPECT_THAT(found.finding.message, HasSubstr("21.3 GiB (22870000000 bytes) in one piece"));
}

TEST(DmaBuffer, ofAnotherDriverIsItsOwnFinding) {
  // What the log says of the NPU is nothing to it, and "input" has no NPU in it.
  const LogFinding input = only_finding(
      "RKNPU fde40000.npu: RKNPU: rknpu iommu is disabled, using non-iommu mode\n"
      "touch input0: dma alloc of size 4194304 failed\n");
  EXPECT_EQ(input.finding.code, "DMA_ALLOC_FAILED");
  EXPECT_THAT(input.finding.message, Not(HasSubstr("IOMMU")));
  const LogFinding found =
      only_finding("bcm2835-codec bcm2835-codec: dma alloc of size 4194304 failed\n");
  EXPECT_EQ(found.finding.code, "DMA_ALLOC_FAILED");
  EXPECT_EQ(found.finding.where, "bcm2835-codec");
  EXPECT_EQ(only_finding("video 0000: dma_alloc of size 4194304 failed\n").finding.code,
            "DMA_ALLOC_FAILED");
}

TEST(OutOfMemory, saysWhoWasKilledAndWhatItHeld) {
  // 4.19 says it in two lines.
  const LogFinding old = only_finding(
      "[  500.1] python3 invoked oom-killer: gfp_mask=0x6200ca(GFP_HIGHUSER_MOVABLE), "
      "nodemask=(null), order=0, oom_score_adj=0\n"
      "[  500.2] Node 0 DMA32: 100*4kB (UME) 0*8kB = 400kB\n"
      "[  500.3] Out of memory: Kill process 1234 (llama (main)) score 901 or sacrifice child\n"
      "[  500.4] Killed process 1234 (llama (main)) total-vm:9437184kB, anon-rss:7340032kB, "
      "file-rss:0kB, shmem-rss:0kB\n");
  EXPECT_EQ(old.finding.code, "MEM_OOM_KILL");
  EXPECT_EQ(old.count, 1U);
  EXPECT_EQ(old.finding.where, "llama (main)");
  EXPECT_THAT(old.finding.message,
              AllOf(HasSubstr("llama (main) (process 1234)"), HasSubstr("7.0 GiB of its own"),
                    HasSubstr("9.0 GiB of addresses"), HasSubstr("400 KiB was free then.")));
  // 6.x, in a cgroup.
  const LogFinding cgroup = only_finding(
      "[  500.4] Memory cgroup out of memory: Killed process 77 (node) total-vm:1048576kB, "
      "anon-rss:524288kB, file-rss:1024kB, shmem-rss:0kB, UID:1000 pgtables:1200kB "
      "oom_score_adj:0\n");
  EXPECT_THAT(cgroup.finding.message, HasSubstr("the Memory cgroup had reached its limit"));
  // Free, and kept for others: arm, 6.1, most of the low memory is CMA's.
  const LogFinding low = only_finding(
      "[  492.0] kworker/0:1 invoked oom-killer: gfp_mask=0xcc0(GFP_KERNEL), order=0, "
      "oom_score_adj=0\n"
      "[  492.1] DMA: 142*4kB (UEC) 0*8kB 125*4096kB (C) = 512568kB\n"
      "[  492.1] HighMem: 9*4kB (M) = 36kB\n"
      "[  492.2] Out of memory: Killed process 1234 (node) total-vm:1048576kB, anon-rss:524288kB, "
      "file-rss:0kB\n");
  EXPECT_THAT(
      low.finding.message,
      HasSubstr("501 MiB was free then in the zones that serve it (DMA) (500 MiB of it kept "
                "for CMA, atomic requests or isolated)."));
  // The list of another failure is not this one's.
  const LogResult two = diagnosed(
      "a: page allocation failure: order:4, mode:0xcc0(GFP_KERNEL), nodemask=(null)\n"
      "Normal: 9*4kB (U) 0*8kB = 36kB\n"
      "Killed process 77 (node) total-vm:1048576kB, anon-rss:524288kB, file-rss:1024kB\n");
  EXPECT_THAT(finding_in(two, "MEM_OOM_KILL").finding.message, Not(HasSubstr("free then")));
  const LogFinding android = only_finding(
      "12-03 11:53:01.123   123   123 I lowmemorykiller: Kill 'com.example.app' (4242), uid 10080, "
      "oom_adj 900 to free 61204kB\n");
  EXPECT_EQ(android.finding.where, "com.example.app");
}

}  // namespace
}  // namespace assay::probes
