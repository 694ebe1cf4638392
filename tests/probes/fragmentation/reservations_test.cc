#include "probes/fragmentation/reservations.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/base/scratch.h"

namespace assay::probes {
namespace {

using testing::IsEmpty;

class Reservations : public testing::Test {
 protected:
  Machine machine() const { return Machine(scratch_.root()); }
  test::Scratch scratch_;
};

TEST_F(Reservations, ofAKernelWithoutCmaAreNone) {
  EXPECT_FALSE(read_cma(machine(), 4096));
  scratch_.write("proc/meminfo", "MemTotal: 8000000 kB\n");
  const auto cma = read_cma(machine(), 4096);
  ASSERT_TRUE(cma);
  EXPECT_FALSE(*cma);
  EXPECT_THAT(read_huge_page_pools(machine()), IsEmpty());
}

TEST_F(Reservations, areasAreCountedInTheKernelsPages) {
  scratch_.write("proc/meminfo", "CmaTotal:         524288 kB\r\nCmaFree:          131072 kB\r\n");
  // Kernels before 5.x name the folder with "cma-" in front; pages of 16 KiB.
  scratch_.write("sys/kernel/debug/cma/cma-reserved/count", "32768\n");
  scratch_.write("sys/kernel/debug/cma/cma-reserved/used", "24576\n");
  scratch_.write("sys/kernel/debug/cma/cma-reserved/maxchunk", "4096\n");
  scratch_.write("sys/kernel/mm/cma/reserved/alloc_pages_fail", "1250\n");
  const auto cma = read_cma(machine(), 16384);
  ASSERT_TRUE(cma && *cma);
  EXPECT_EQ((*cma)->total_bytes, 512U << 20);
  EXPECT_EQ((*cma)->free_bytes, 128U << 20);
  ASSERT_EQ((*cma)->areas.size(), 1U);
  const CmaArea& area = (*cma)->areas[0];
  EXPECT_EQ(area.name, "reserved");
  EXPECT_EQ(area.bytes, 512U << 20);
  EXPECT_EQ(area.used_bytes, 384U << 20);
  EXPECT_EQ(area.longest_free, 64U << 20);
  EXPECT_EQ(area.failed, 1250U);
}

TEST_F(Reservations, aKernelThatTellsLessTellsNoFigureThatIsNotThere) {
  scratch_.write("proc/meminfo", "CmaTotal: 65536 kB\nCmaFree: 1024 kB\n");
  scratch_.write("sys/kernel/mm/cma/linux,cma/alloc_pages_fail", "x\n");
  const auto cma = read_cma(machine(), 4096);
  ASSERT_TRUE(cma && *cma);
  ASSERT_EQ((*cma)->areas.size(), 1U);
  EXPECT_FALSE((*cma)->areas[0].used_bytes);
  EXPECT_FALSE((*cma)->areas[0].longest_free);
  EXPECT_EQ((*cma)->areas[0].failed, 0U);
}

TEST_F(Reservations, poolsOfHugePagesOfEachSizeTheLargestFirst) {
  for (const char* name : {"nr_hugepages", "free_hugepages", "resv_hugepages"}) {
    scratch_.write(std::string("sys/kernel/mm/hugepages/hugepages-2048kB/") + name, "12\n");
    scratch_.write(std::string("sys/kernel/mm/hugepages/hugepages-1048576kB/") + name, "3\n");
    scratch_.write(std::string("sys/kernel/mm/hugepages/hugepages-64kB/") + name, "0\n");
  }
  scratch_.write("sys/kernel/mm/hugepages/README", "\n");
  const auto pools = read_huge_page_pools(machine());
  ASSERT_EQ(pools.size(), 3U);
  EXPECT_EQ(pools[0].page_bytes, std::uint64_t{1} << 30);
  EXPECT_EQ(pools[0].pages, 3U);
  EXPECT_EQ(pools[1].page_bytes, 2U << 20);
  EXPECT_EQ(pools[1].free, 12U);
  EXPECT_EQ(pools[2].page_bytes, 64U << 10);
}

constexpr const char* iomem =
    "00000000-00000fff : Reserved\n"
    "00001000-0009fbff : System RAM\n"
    "00100000-bfffffff : System RAM\n"
    "  01000000-022784c7 : Kernel code\n"
    "  40000000-4fffffff : reserved\n"
    "    41000000-41ffffff : ramoops\n"
    "c0001000-eebfffff : PCI Bus 0000:00\n"
    "  c0002000-c0002fff : 0000:00:01.0\n";

TEST(ReservedRanges, areWhatIsKeptInsideOfRamAndReserved) {
  const auto ranges = parse_reserved_ranges(iomem);
  ASSERT_TRUE(ranges) << ranges.error().text();
  ASSERT_EQ(ranges->size(), 3U);
  EXPECT_EQ((*ranges)[0].name, "Reserved");
  EXPECT_EQ((*ranges)[0].last, 0xFFFU);
  EXPECT_EQ((*ranges)[1].name, "Kernel code");
  EXPECT_EQ((*ranges)[2].name, "reserved");
  EXPECT_EQ((*ranges)[2].first, 0x40000000U);
}

TEST(ReservedRanges, withoutRootAddressesAreNoneAndNothingIsTold) {
  const auto ranges = parse_reserved_ranges(
      "00000000-00000000 : Reserved\n00000000-00000000 : System RAM\n"
      "  00000000-00000000 : Kernel code\n");
  ASSERT_TRUE(ranges);
  EXPECT_THAT(*ranges, IsEmpty());
}

TEST(ReservedRanges, aLineThatIsNoneIsRefusedWithItsNumber) {
  for (const char* wrong : {"garbage\n", "1000-0fff : backwards\n", "x-1 : a\n", "1000 : a\n",
                            "11111111111111111-2 : a\n"}) {
    const auto ranges = parse_reserved_ranges(wrong);
    ASSERT_FALSE(ranges) << wrong;
    EXPECT_EQ(ranges.error().where, "/proc/iomem");
  }
  const std::string text = iomem;
  for (std::size_t size = 0; size < text.size(); ++size) {
    const auto ranges = parse_reserved_ranges(text.substr(0, size));
    if (ranges) {
      EXPECT_LE(ranges->size(), 3U) << size;
    }
  }
}

}  // namespace
}  // namespace assay::probes
