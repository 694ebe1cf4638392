#include "probes/fragmentation/device_memory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/base/scratch.h"

namespace assay::probes {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr std::uint64_t gb = 1'000'000'000;

class DeviceMemoryTest : public testing::Test {
 protected:
  DeviceMemoryTest() {
    board_.npu = NpuProfile{};
    board_.npu->mapping = {.contiguous = true,
                           .large_pages_since = parse_semantic_version("2.3.0").value(),
                           .max_chunk_bytes = 2 * gb,
                           .shard_region_bytes = 256 << 20,
                           .pool_bytes = 26 * gb,
                           .pool_joined_bytes = 24 * gb,
                           .pool_file = "/debug/pool"};
  }
  void pool(std::uint64_t free, std::uint64_t largest, int mappings) {
    scratch_.write("debug/pool", "total_bytes: 26000000000\nfree_bytes: " + std::to_string(free) +
                                     "\nlargest_free_block: " + std::to_string(largest) +
                                     "\nlive_mappings: " + std::to_string(mappings) + "\n");
  }
  DeviceView view(const char* firmware = nullptr) {
    std::optional<SemanticVersion> version;
    if (firmware != nullptr) version = parse_semantic_version(firmware).value();
    auto seen = view_device(Machine(scratch_.root()), board_, version);
    EXPECT_TRUE(seen) << seen.error().text();
    return seen.value_or(DeviceView());
  }

  test::Scratch scratch_;
  BoardProfile board_;
};

TEST_F(DeviceMemoryTest, ofABoardIsWhatItsPoolHasNowAndWhatItsProfileExpects) {
  pool(22 * gb, 90'000'000, 0);
  const DeviceView seen = view("2.3.1");
  EXPECT_EQ(seen.memory.now.free_bytes, 22 * gb);
  EXPECT_EQ(seen.memory.now.largest_bytes, 90'000'000U);
  EXPECT_EQ(seen.memory.joined.largest_bytes, 24 * gb);
  EXPECT_EQ(seen.memory.reservable_bytes, 26 * gb);
  EXPECT_EQ(seen.rules.max_run_bytes, 0U);
  EXPECT_EQ(seen.rules.max_chunk_bytes, 2 * gb);
}

TEST_F(DeviceMemoryTest, whileMappingsLiveNothingIsJoined) {
  pool(22 * gb, 90'000'000, 3);
  const DeviceView seen = view();
  EXPECT_EQ(seen.memory.joined.largest_bytes, 90'000'000U);
  EXPECT_THAT(seen.notes, Contains(HasSubstr("3 mappings live")));
}

TEST_F(DeviceMemoryTest, firmwareBeforeLargePagesHasRunsOfTheLargestOrder) {
  pool(22 * gb, 16 << 20, 0);
  // 13 orders: the largest is 12, 16 MiB in pages of 4 KiB.
  scratch_.write("proc/buddyinfo", "Node 0, zone Normal 1 0 0 0 0 0 0 0 0 0 0 0 0\n");
  const DeviceView seen = view("2.1.4-rc3");
  EXPECT_EQ(seen.rules.max_run_bytes, 16U << 20);
  EXPECT_EQ(seen.memory.joined.largest_bytes, 16U << 20);
  EXPECT_EQ(view("2.3.0").rules.max_run_bytes, 0U);
  board_.memory = MemoryProfile{32 * gb, 65536};
  EXPECT_EQ(view("2.1.4-rc3").rules.max_run_bytes, 256U << 20);
}

TEST_F(DeviceMemoryTest, onAnotherMachineIsTheProfilesAndSaysSo) {
  const DeviceView seen = view();
  EXPECT_EQ(seen.memory.now.free_bytes, 24 * gb);
  EXPECT_EQ(seen.memory.now.largest_bytes, 0U);
  EXPECT_EQ(seen.memory.joined.largest_bytes, 24 * gb);
  EXPECT_THAT(seen.notes, Contains(HasSubstr("no /debug/pool")));
}

TEST_F(DeviceMemoryTest, anAccountThatIsThereAndNotUnderstoodIsNoReasonToGuess) {
  scratch_.write("debug/pool", "busy\n");
  const auto seen = view_device(Machine(scratch_.root()), board_, std::nullopt);
  ASSERT_FALSE(seen);
  EXPECT_EQ(seen.error().where, "/debug/pool");
}

TEST_F(DeviceMemoryTest, ofAMachineWithoutSuchADeviceIsWhatIsAvailable) {
  board_.npu.reset();
  scratch_.write("proc/meminfo", "MemTotal: 8000000 kB\nMemAvailable: 1000000 kB\n");
  const DeviceView seen = view();
  EXPECT_FALSE(seen.rules.contiguous);
  EXPECT_EQ(seen.memory.now.free_bytes, 1'024'000'000U);
  EXPECT_EQ(seen.memory.joined.largest_bytes, seen.memory.now.largest_bytes);
  EXPECT_THAT(seen.notes, Not(IsEmpty()));
}

}  // namespace
}  // namespace assay::probes
