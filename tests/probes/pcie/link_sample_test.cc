#include "probes/pcie/link_sample.h"

#include <gtest/gtest.h>

#include "tests/base/scratch.h"
#include "tests/probes/pcie/config_bytes.h"

namespace assay::probes {
namespace {

using test::ConfigBytes;

PciFunction running_at(unsigned code, unsigned width) {
  return decode_config_space(
             ConfigBytes().pci_express(0x40, 0, 4 | 4 << 4, code | width << 4).bytes(),
             "0000:01:00.0")
      .value();
}

bool is_gen3_x4(const Link& link) {
  return link.speed_gts >= 8 && link.width >= 4;
}

TEST(LinkSample, aGoodLinkIsReadOnce) {
  const auto sample = sample_link(
      running_at(3, 4), is_gen3_x4,
      []() -> std::optional<PciFunction> {
        ADD_FAILURE();
        return std::nullopt;
      },
      [] { return true; });
  EXPECT_EQ(sample.readings, 1U);
}

TEST(LinkSample, waitsForALinkThatComesUpWithItsDevice) {
  unsigned reading = 0;
  const auto sample = sample_link(
      running_at(1, 1), is_gen3_x4,
      [&] { return std::optional(++reading < 4 ? running_at(1, reading) : running_at(3, 4)); },
      [] { return true; });
  EXPECT_EQ(sample.readings, 5U);
  EXPECT_EQ(sample.best.link()->speed_gts, 8.0);
}

TEST(LinkSample, keepsTheBestOfALinkThatNeverIsWhatItShouldBe) {
  unsigned reading = 0;
  const auto sample = sample_link(
      running_at(1, 1), is_gen3_x4,
      [&] { return std::optional(++reading == 2 ? running_at(2, 4) : running_at(1, 4)); },
      [] { return true; });
  EXPECT_EQ(sample.readings, max_link_readings);
  EXPECT_EQ(sample.best.link()->speed_gts, 5.0);
}

TEST(LinkSample, endsWhenTheDeviceVanishesOrTheWaitIsCancelled) {
  EXPECT_EQ(sample_link(
                running_at(1, 1), is_gen3_x4, [] { return std::optional<PciFunction>(); },
                [] { return true; })
                .readings,
            1U);
  EXPECT_EQ(sample_link(
                running_at(1, 1), is_gen3_x4, [] { return std::optional(running_at(3, 4)); },
                [] { return false; })
                .readings,
            1U);
}

TEST(KeptAwake, holdsWhatMaySleepAndPutsItBack) {
  const test::Scratch scratch;
  const std::string folder = "sys/bus/pci/devices/";
  scratch.write(folder + "0000:01:00.0/power/control", "auto\n");
  scratch.write(folder + "0000:00:02.0/power/control", "on\n");
  const Machine machine(scratch.root());
  {
    const KeptAwake awake(machine, {"0000:01:00.0", "0000:00:02.0", "0000:07:00.0"});
    EXPECT_EQ(scratch.content(folder + "0000:01:00.0/power/control"), "on");
  }
  EXPECT_EQ(scratch.content(folder + "0000:01:00.0/power/control"), "auto");
  EXPECT_EQ(scratch.content(folder + "0000:00:02.0/power/control"), "on\n");
}

}  // namespace
}  // namespace assay::probes
