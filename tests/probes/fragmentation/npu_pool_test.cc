#include "probes/fragmentation/npu_pool.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/base/scratch.h"

namespace assay::probes {
namespace {

using testing::HasSubstr;

constexpr const char* account =
    "total_bytes: 25769803776\nfree_bytes: 23410000000\n"
    "largest_free_block: 92508160\nlive_mappings: 2\n";

TEST(NpuPool, readsTheDriversAccount) {
  const auto pool = parse_pool_info(account);
  ASSERT_TRUE(pool) << pool.error().text();
  EXPECT_EQ(pool->total_bytes, 25'769'803'776U);
  EXPECT_EQ(pool->free_bytes, 23'410'000'000U);
  EXPECT_EQ(pool->largest_free_block_bytes, 92'508'160U);
  EXPECT_EQ(pool->live_mappings, 2U);
}

TEST(NpuPool, takesOtherOrdersOtherLinesAndCarriageReturns) {
  const auto pool = parse_pool_info(
      "pool npu0\r\nlive_mappings:0\r\nlargest_free_block:\t8\r\nnote: x: y\r\n"
      "free_bytes: 9 \r\ntotal_bytes: 10");
  ASSERT_TRUE(pool) << pool.error().text();
  EXPECT_EQ(pool->total_bytes, 10U);
}

TEST(NpuPool, anAccountThatIsCutOffOrContradictsItselfIsNone) {
  for (std::size_t size = 0; size + 1 < std::string(account).size(); ++size) {
    const auto pool = parse_pool_info(std::string_view(account).substr(0, size));
    EXPECT_FALSE(pool) << size;
  }
  for (const char* wrong :
       {"total_bytes: 10\nfree_bytes: 11\nlargest_free_block: 1\nlive_mappings: 0\n",
        "total_bytes: 10\nfree_bytes: 5\nlargest_free_block: 6\nlive_mappings: 0\n",
        "total_bytes: -10\nfree_bytes: 5\nlargest_free_block: 5\nlive_mappings: 0\n",
        "total_bytes: 10 kB\nfree_bytes: 5\nlargest_free_block: 5\nlive_mappings: 0\n",
        "total_bytes: 99999999999999999999\nfree_bytes: 5\nlargest_free_block: 5\n"
        "live_mappings: 0\n",
        "total_bytes: 10\ntotal_bytes: 10\nfree_bytes: 5\nlargest_free_block: 5\n"
        "live_mappings: 0\n"}) {
    EXPECT_FALSE(parse_pool_info(wrong)) << wrong;
  }
}

TEST(NpuPool, errorsNameTheFile) {
  const test::Scratch scratch;
  const Machine machine(scratch.root());
  BoardProfile board;
  EXPECT_EQ(read_pool_info(machine, board).error().kind, ErrorKind::unavailable);
  board.npu = NpuProfile{};
  board.npu->mapping.pool_file = "/sys/kernel/debug/npu/pool";
  EXPECT_FALSE(read_pool_info(machine, board));
  scratch.write("sys/kernel/debug/npu/pool", "nothing\n");
  const auto wrong = read_pool_info(machine, board);
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.error().where, "/sys/kernel/debug/npu/pool");
  EXPECT_THAT(wrong.error().what, HasSubstr("total_bytes"));
}

}  // namespace
}  // namespace assay::probes
