#include "probes/memory/ram.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <thread>

#include "tests/base/scratch.h"

namespace assay::probes {
namespace {

constexpr std::uint64_t mebibyte = 1 << 20;
constexpr std::uint64_t gib = std::uint64_t{1} << 30;

class AvailableMemory : public testing::Test {
 protected:
  void meminfo(std::uint64_t total_kib, std::uint64_t available_kib) {
    root_.write("proc/meminfo", "MemTotal:       " + std::to_string(total_kib) +
                                    " kB\nMemFree:            1234 kB\n" + "MemAvailable:   " +
                                    std::to_string(available_kib) + " kB\nBuffers: 1 kB\n");
  }
  void cgroup(const std::string& max, const std::string& current) {
    root_.write("sys/fs/cgroup/memory.max", max + "\n");
    root_.write("sys/fs/cgroup/memory.current", current + "\n");
  }
  Result<std::uint64_t> available() const { return available_memory(Machine(root_.root())); }

  test::Scratch root_;
};

TEST_F(AvailableMemory, leavesTheSystemFivePercentAndAtLeast256MiB) {
  meminfo(32 * mebibyte, 20 * mebibyte);  // 20 GiB
  EXPECT_EQ(available(), 19 * gib);
  meminfo(32 * mebibyte, 1024 * 1024);  // 1 GiB
  EXPECT_EQ(available(), gib - 256 * mebibyte);
  meminfo(32 * mebibyte, 256 * 1024);
  EXPECT_EQ(available(), 0U);
  meminfo(32 * mebibyte, 0);
  EXPECT_EQ(available(), 0U);
  EXPECT_EQ(total_memory(Machine(root_.root())), 32 * gib);
}

TEST_F(AvailableMemory, aContainerMayBeAllowedLess) {
  meminfo(32 * mebibyte, 20 * mebibyte);
  cgroup(std::to_string(4 * gib), std::to_string(2 * gib));
  EXPECT_EQ(available(), 2 * gib - 256 * mebibyte);
  cgroup("max", std::to_string(2 * gib));
  EXPECT_EQ(available(), 19 * gib);
  cgroup(std::to_string(64 * gib), std::to_string(2 * gib));
  EXPECT_EQ(available(), 19 * gib);
  // Over its limit for a moment: nothing is left, not everything.
  cgroup(std::to_string(4 * gib), std::to_string(4 * gib + 4096));
  EXPECT_EQ(available(), 0U);
}

TEST_F(AvailableMemory, theTightestOfTheGroupsAroundUsCounts) {
  meminfo(32 * mebibyte, 20 * mebibyte);
  root_.write("proc/self/cgroup", "0::/system.slice/assay.service\n");
  const auto limit = [&](const std::string& group, std::uint64_t bytes) {
    root_.write("sys/fs/cgroup/" + group + "memory.max", std::to_string(bytes) + "\n");
    root_.write("sys/fs/cgroup/" + group + "memory.current", "0\n");
  };
  limit("system.slice/assay.service/", 8 * gib);
  EXPECT_EQ(available(), 8 * gib - 8 * gib / 20);
  limit("system.slice/", 2 * gib);
  EXPECT_EQ(available(), 2 * gib - 256 * mebibyte);
  limit("system.slice/", 16 * gib);
  EXPECT_EQ(available(), 8 * gib - 8 * gib / 20);
  // Version 1.
  root_.write("proc/self/cgroup", "garbage\n:::\n7:cpu,memory:docker\n5:memory:/docker/1\n");
  root_.write("sys/fs/cgroup/memory/docker/memory.limit_in_bytes", std::to_string(4 * gib));
  root_.write("sys/fs/cgroup/memory/docker/memory.usage_in_bytes", "0");
  EXPECT_EQ(available(), 4 * gib - 256 * mebibyte);
}

// What a group has read of files fills it, and is given back when it is needed.
TEST_F(AvailableMemory, filesThatWereReadAreNotInTheWay) {
  root_.write("proc/meminfo", "MemAvailable: 33554432 kB\n");
  root_.write("proc/self/cgroup", "0::/a\n");
  root_.write("sys/fs/cgroup/a/memory.max", std::to_string(4 * gib));
  root_.write("sys/fs/cgroup/a/memory.current", std::to_string(3 * gib));
  EXPECT_EQ(available(), 1 * gib - 256 * mebibyte);
  root_.write("sys/fs/cgroup/a/memory.stat", "anon 5\nactive_file " + std::to_string(gib) +
                                                 "\ninactive_file " + std::to_string(gib) + "\n");
  EXPECT_EQ(available(), 3 * gib - 256 * mebibyte);
  root_.write("proc/self/cgroup", "5:memory:/b\n");
  root_.write("sys/fs/cgroup/memory/b/memory.limit_in_bytes", std::to_string(4 * gib));
  root_.write("sys/fs/cgroup/memory/b/memory.usage_in_bytes", std::to_string(3 * gib));
  root_.write("sys/fs/cgroup/memory/b/memory.stat",
              "inactive_file 9\ntotal_inactive_file " + std::to_string(gib) +
                  "\ntotal_active_file " + std::to_string(gib) + "\n");
  EXPECT_EQ(available(), 3 * gib - 256 * mebibyte);
}

TEST_F(AvailableMemory, theLargestCacheIsTold) {
  EXPECT_FALSE(largest_cache(Machine(root_.root())));
  root_.write("sys/devices/system/cpu/cpu0/cache/index0/size", "32K\n");
  root_.write("sys/devices/system/cpu/cpu0/cache/index3/size", "32768K\n");
  root_.write("sys/devices/system/cpu/cpu0/cache/uevent", "");
  EXPECT_EQ(largest_cache(Machine(root_.root())), std::uint64_t{32} << 20);
}

TEST_F(AvailableMemory, isNeverGuessed) {
  EXPECT_FALSE(available());
  for (const char* content :
       {"", "MemTotal: 1 kB\n", "MemAvailable:\n", "MemAvailable: x kB\n", "MemAvailable: -1 kB\n",
        "MemAvailable: 99999999999999999999 kB\n", "MemAvailable: 18446744073709551615 kB\n"}) {
    root_.write("proc/meminfo", content);
    EXPECT_FALSE(available()) << content;
  }
  root_.write("proc/meminfo", "MemAvailable: 1 kB\n");
  EXPECT_FALSE(total_memory(Machine(root_.root())));
}

class RamRegionTest : public testing::Test {
 protected:
  Result<RamRegion> allocate(std::size_t bytes) {
    return RamRegion::allocate(bytes, workers_, [](std::size_t) { return true; });
  }

  WorkerPool workers_{2};
};

TEST_F(RamRegionTest, canBeGivenUpWhileItIsMade) {
  std::atomic<std::size_t> present{0};
  const auto region = RamRegion::allocate(512 * mebibyte, workers_, [&](std::size_t so_far) {
    present = so_far;
    return false;
  });
  ASSERT_FALSE(region);
  EXPECT_EQ(region.error().kind, ErrorKind::cancelled);
  EXPECT_GT(present, 0u);
  EXPECT_LT(present, 512 * mebibyte);
}

TEST_F(RamRegionTest, isPresentZeroAndWholePages) {
  const auto region = allocate(3 * mebibyte + 1);
  ASSERT_TRUE(region);
  const std::span<std::byte> bytes = region->bytes();
  EXPECT_EQ(bytes.size(), 3 * mebibyte + 4096);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(bytes.data()) % 4096, 0U);
  EXPECT_TRUE(
      std::all_of(bytes.begin(), bytes.end(), [](std::byte b) { return b == std::byte{0}; }));
  bytes.back() = std::byte{1};
}

TEST_F(RamRegionTest, moreThanThereIsIsAnError) {
  const auto region = allocate(std::size_t{1} << 60);
  ASSERT_FALSE(region);
  EXPECT_EQ(region.error().kind, ErrorKind::exhausted);
}

// So much is left, whatever is taken.
class SmallRam final : public Ram {
 public:
  explicit SmallRam(std::uint64_t left) : left_(left) {}
  Result<std::uint64_t> usable() const override { return left_; }

 private:
  std::uint64_t left_;
};

// Others have taken it since it was asked how much there is.
TEST_F(RamRegionTest, whatOthersNeedIsLeftToThem) {
  const auto anyway = [](std::size_t) { return true; };
  const auto region =
      RamRegion::allocate(64 * mebibyte, workers_, anyway, SmallRam(140 * mebibyte));
  ASSERT_FALSE(region);
  EXPECT_EQ(region.error().kind, ErrorKind::exhausted);
  EXPECT_TRUE(RamRegion::allocate(64 * mebibyte, workers_, anyway, SmallRam(400 * mebibyte)));
}

// Each of them would leave enough, all of them would not.
TEST_F(RamRegionTest, workersThatTakeAtOnceCountWhatTheOthersTake) {
  WorkerPool many(8);
  // Room for one piece of 32 MiB; who asks waits until all have said what they want.
  class Slow final : public Ram {
   public:
    Result<std::uint64_t> usable() const override {
      for (++asked_; asked_ < 8;) std::this_thread::yield();
      return least_usable + 40 * mebibyte;
    }

   private:
    mutable std::atomic<int> asked_{0};
  };
  std::atomic<std::size_t> most{0};
  const auto region = RamRegion::allocate(
      256 * mebibyte, many,
      [&](std::size_t present) {
        most = std::max(most.load(), present);
        return true;
      },
      Slow());
  EXPECT_FALSE(region);
  EXPECT_LE(most, 40 * mebibyte);
}

TEST_F(RamRegionTest, canBeGivenBackFromWithinARunOfItsPool) {
  auto region = allocate(mebibyte);
  ASSERT_TRUE(region);
  workers_.run([&](unsigned worker) {
    if (worker == 1) region->give_back();
  });
  EXPECT_TRUE(region->bytes().empty());
}

TEST_F(RamRegionTest, canBeHandedOn) {
  auto region = allocate(mebibyte);
  ASSERT_TRUE(region);
  std::byte* const data = region->bytes().data();
  const RamRegion other(std::move(*region));
  EXPECT_EQ(other.bytes().data(), data);
  EXPECT_EQ(region->bytes().data(), nullptr);
}

}  // namespace
}  // namespace assay::probes
