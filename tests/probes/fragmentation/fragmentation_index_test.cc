// The kernel's indices: by hand after its formula (mm/vmstat.c), and against the running kernel's
// own (debugfs, extfrag), where this test may mount it.
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <sstream>

#include "base/clock.h"
#include "probes/fragmentation/buddyinfo.h"

namespace assay::probes {
namespace {

TEST(FragmentationIndex, isTheKernelsByHand) {
  const BuddyZone zone{.node = 0, .zone = "Normal", .blocks = {10, 5, 0, 0, 0, 0, 0, 0, 0, 0, 0}};
  // 20 pages in 15 blocks; of order 9: 1000 - (1000 + 20 * 1000 / 512) / 15 = 1000 - 1039 / 15.
  EXPECT_DOUBLE_EQ(fragmentation_index(zone, 9).value(), 0.931);
  // Of order 2, 4 pages: 1000 - (1000 + 5000) / 15.
  EXPECT_DOUBLE_EQ(fragmentation_index(zone, 2).value(), 0.600);
  // A block of order 1 serves these.
  EXPECT_EQ(fragmentation_index(zone, 1), std::nullopt);
  EXPECT_EQ(fragmentation_index(zone, 0), std::nullopt);
  EXPECT_DOUBLE_EQ(unusable_index(zone, 0), 0);
  EXPECT_DOUBLE_EQ(unusable_index(zone, 1), 0.5);
  EXPECT_DOUBLE_EQ(unusable_index(zone, 2), 1);
}

// "Towards 0 implies lack of memory": one single page is all there is.
TEST(FragmentationIndex, tellsLackOfMemoryFromFragmentation) {
  const BuddyZone little{.node = 0, .zone = "Normal", .blocks = {1, 0, 0}};
  EXPECT_LT(fragmentation_index(little, 2).value(), 0);
  const BuddyZone scattered{.node = 0, .zone = "Normal", .blocks = {100'000, 0, 0}};
  EXPECT_GT(fragmentation_index(scattered, 2).value(), 0.7);
}

TEST(FragmentationIndex, ofAZoneWithNothingFreeIsNone) {
  const BuddyZone empty{.node = 1, .zone = "Movable", .blocks = {0, 0, 0}};
  EXPECT_EQ(fragmentation_index(empty, 1), std::nullopt);
  EXPECT_DOUBLE_EQ(unusable_index(empty, 1), 1);
}

std::string file_text(const std::string& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

// debugfs at a place of its own.
class Debugfs {
 public:
  Debugfs() {
    char name[] = "/tmp/assay-debugfs-XXXXXX";
    if (mkdtemp(name) == nullptr) return;
    folder_ = name;
    mounted_ = ::mount("none", name, "debugfs", 0, nullptr) == 0;
  }
  ~Debugfs() {
    if (mounted_) ::umount(folder_.c_str());
    if (!folder_.empty()) ::rmdir(folder_.c_str());
  }
  Debugfs(const Debugfs&) = delete;
  Debugfs& operator=(const Debugfs&) = delete;
  std::string text(const char* name) const { return file_text(folder_ + "/extfrag/" + name); }

 private:
  std::string folder_;
  bool mounted_ = false;
};

// "Node 0, zone DMA 0.000 0.066 ...", as buddyinfo has counts.
std::vector<std::vector<double>> numbers_of(const std::string& text) {
  std::vector<std::vector<double>> rows;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string word;
    for (int i = 0; i < 4; ++i) words >> word;
    std::vector<double> row;
    for (double number = 0; words >> number;) row.push_back(number);
    rows.push_back(std::move(row));
  }
  return rows;
}

TEST(FragmentationIndex, isTheRunningKernels) {
  const Debugfs debugfs;
  if (debugfs.text("unusable_index").empty()) {
    GTEST_SKIP() << "needs root, and a kernel with debugfs and compaction";
  }
  const auto buddies = [] { return parse_buddyinfo(file_text("/proc/buddyinfo")).value(); };
  std::vector<bool> compared(buddies().zones.size());
  // What others allocate in between changes a zone's lists: a try without it counts, for each zone.
  const std::int64_t deadline = monotonic_ns() + 60 * ns_per_s;
  while (std::find(compared.begin(), compared.end(), false) != compared.end()) {
    ASSERT_LT(monotonic_ns(), deadline) << "this machine's memory never stood still";
    const BuddyInfo before = buddies();
    const auto unusable = numbers_of(debugfs.text("unusable_index"));
    const auto fragmentation = numbers_of(debugfs.text("extfrag_index"));
    const BuddyInfo after = buddies();
    ASSERT_EQ(unusable.size(), before.zones.size());
    ASSERT_EQ(fragmentation.size(), before.zones.size());
    for (std::size_t z = 0; z < before.zones.size(); ++z) {
      const BuddyZone& zone = before.zones[z];
      if (zone.blocks != after.zones[z].blocks) continue;
      compared[z] = true;
      ASSERT_EQ(unusable[z].size(), zone.blocks.size());
      for (std::size_t order = 0; order < zone.blocks.size(); ++order) {
        const int o = static_cast<int>(order);
        // The kernel cuts off behind a thousandth.
        EXPECT_NEAR(unusable[z][order], std::floor(unusable_index(zone, o) * 1000) / 1000, 1.1e-3);
        // It says -1 where a request would not fail, and 0 of a zone with nothing free.
        const auto index = fragmentation_index(zone, o);
        if (index) {
          EXPECT_NEAR(fragmentation[z][order], *index, 1.1e-3);
        }
        if (!index && unusable_index(zone, o) < 1) {
          EXPECT_EQ(fragmentation[z][order], -1);
        }
      }
    }
  }
}

}  // namespace
}  // namespace assay::probes
