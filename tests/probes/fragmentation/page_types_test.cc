#include "probes/fragmentation/page_types.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace assay::probes {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// As kernel 4.19 prints it.
constexpr const char* kernel_4_19 =
    "Page block order: 9\n"
    "Pages per block:  512\n"
    "\n"
    "Free pages count per migrate type at order       0      1      2      3 \n"
    "Node    0, zone   Normal, type    Unmovable     29      1    642    657 \n"
    "Node    0, zone   Normal, type      Movable  19347      0      0      2 \n"
    "\n"
    "Number of blocks type     Unmovable      Movable \n"
    "Node 0, zone   Normal          105         3423 \n";

// As kernel 6.x prints it: lists that are counted to 100000, two nodes, CMA, and what page_owner
// adds.
constexpr const char* kernel_6 =
    "Page block order: 13\n"
    "Pages per block:  8192\n"
    "\n"
    "Free pages count per migrate type at order       0      1 \n"
    "Node    0, zone    DMA32, type          CMA      1      2 \n"
    "Node    1, zone  Movable, type      Movable >100000      7 \n"
    "\n"
    "Number of blocks type     Unmovable      Movable          CMA \n"
    "Node 0, zone    DMA32            1            2            3 \n"
    "Node 1, zone  Movable            0            9            0 \n"
    "\n"
    "Number of mixed blocks    Unmovable      Movable          CMA \n"
    "Node 0, zone    DMA32            0            0            0 \n";

TEST(PageTypes, areReadFromOldAndNewKernels) {
  const auto old = parse_page_types(kernel_4_19);
  ASSERT_TRUE(old) << old.error().text();
  EXPECT_EQ(old->block_order, 9);
  ASSERT_EQ(old->free.size(), 2U);
  EXPECT_EQ(old->free[0].type, "Unmovable");
  EXPECT_THAT(old->free[0].blocks, ElementsAre(29, 1, 642, 657));
  EXPECT_FALSE(old->free[1].at_least);
  ASSERT_EQ(old->blocks.size(), 2U);
  EXPECT_EQ(old->blocks[1].type, "Movable");
  EXPECT_EQ(old->blocks[1].blocks, 3423U);

  const auto recent = parse_page_types(kernel_6);
  ASSERT_TRUE(recent) << recent.error().text();
  EXPECT_EQ(recent->block_order, 13);
  ASSERT_EQ(recent->free.size(), 2U);
  EXPECT_EQ(recent->free[1].node, 1);
  EXPECT_TRUE(recent->free[1].at_least);
  EXPECT_THAT(recent->free[1].blocks, ElementsAre(100'000, 7));
  EXPECT_EQ(recent->blocks.size(), 6U);
  EXPECT_EQ(recent->blocks[2].type, "CMA");
  EXPECT_EQ(recent->blocks[2].blocks, 3U);
}

TEST(PageTypes, carriageReturnsAreNoDifference) {
  std::string text;
  for (const char c : std::string(kernel_6))
    text += c == '\n' ? std::string("\r\n") : std::string{c};
  const auto types = parse_page_types(text);
  ASSERT_TRUE(types) << types.error().text();
  EXPECT_THAT(types->free[0].blocks, ElementsAre(1, 2));
}

TEST(PageTypes, cutAnywhereTheyAreReadOrRefused) {
  const std::string text = kernel_6;
  for (std::size_t size = 0; size < text.size(); ++size) {
    const auto types = parse_page_types(text.substr(0, size));
    if (!types) {
      EXPECT_EQ(types.error().where, "/proc/pagetypeinfo");
    }
    if (types) {
      EXPECT_LE(types->free.size(), 2U);
    }
  }
}

TEST(PageTypes, whatIsNoneIsRefusedWithItsLine) {
  for (const char* wrong :
       {"", "garbage\n", "Page block order: x\n", "Page block order: 99\n",
        "Free pages count per migrate type at order 0\nNode 0, zone Normal, type Movable -1\n",
        "Free pages count per migrate type at order 0\nNode 0, zone Normal, type\n",
        "Number of blocks type Movable\nNode 0, zone Normal 1 2\n"}) {
    EXPECT_FALSE(parse_page_types(wrong)) << wrong;
  }
  EXPECT_THAT(parse_page_types("Page block order: 9\nNumber of blocks type A B\nNode 0, zone N 1\n")
                  .error()
                  .what,
              HasSubstr("line 3"));
}

}  // namespace
}  // namespace assay::probes
