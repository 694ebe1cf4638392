#include "runtime/device/host_device.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace assay::runtime {
namespace {

TEST(HostDevice, mapsZeroedPagesAndReleasesThem) {
  HostDevice device;
  const auto a = device.map(10'000, Placement::contiguous);
  const auto b = device.map(1, Placement::scattered);
  ASSERT_TRUE(a && b);
  EXPECT_NE(a->id, b->id);
  EXPECT_EQ(a->memory.size(), 10'000U);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(a->memory.data()) % 4096, 0U);
  EXPECT_TRUE(std::ranges::all_of(a->memory, [](std::byte x) { return x == std::byte{0}; }));
  EXPECT_EQ(device.pool_info().live_mappings, 2U);
  device.unmap(a->id);
  device.unmap(a->id);
  EXPECT_EQ(device.pool_info().live_mappings, 1U);
}

TEST(HostDevice, saysWhyItCannot) {
  HostDevice device;
  EXPECT_EQ(device.map(0, Placement::contiguous).error().kind, ErrorKind::usage);
  EXPECT_EQ(device.map(device.max_chunk_bytes() + 1, Placement::scattered).error().kind,
            ErrorKind::usage);
  // More than an address has bits for.
  EXPECT_EQ(device.map(std::uint64_t{1} << 62, Placement::contiguous).error().kind,
            ErrorKind::exhausted);
  EXPECT_EQ(device.pool_flush().error().kind, ErrorKind::unavailable);
  EXPECT_EQ(device.pool_defragment().error().kind, ErrorKind::unavailable);
  EXPECT_EQ(device.pool_info().total_bytes, 0U);
}

}  // namespace
}  // namespace assay::runtime
