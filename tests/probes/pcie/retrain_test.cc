#include "probes/pcie/retrain.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/base/scratch.h"
#include "tests/probes/pcie/config_bytes.h"

namespace assay::probes {
namespace {

using test::ConfigBytes;
using testing::HasSubstr;

constexpr unsigned training = 1U << 11;

class Retrain : public testing::Test {
 protected:
  static ConfigBytes port(unsigned lnksta, unsigned type = 0x4) {
    return ConfigBytes().device_class(0x0604).pci_express(0x40, type, 0x43, lnksta).bridge(1);
  }
  void write(const ConfigBytes& config) {
    scratch_.write("sys/bus/pci/devices/0000:00:02.0/config", config.text());
  }
  std::string bytes() const { return scratch_.content("sys/bus/pci/devices/0000:00:02.0/config"); }
  Result<Retrained> retrain(const std::function<bool()>& wait) {
    return retrain_link(Machine(scratch_.root()), "0000:00:02.0", wait);
  }
  test::Scratch scratch_;
};

TEST_F(Retrain, setsTheBitAloneAndWaitsUntilTheLinkHasTrained) {
  write(port(0x1011).u16(0x50, 0x0042));  // LnkCtl: common clock, L1
  int looks = 0;
  const auto done = retrain([&] {
    // As hardware: the bit reads as 0, the link trains, then it is up.
    if (++looks == 1) {
      EXPECT_EQ(bytes().substr(0x50, 2), std::string("\x62\x00", 2));
      EXPECT_EQ(bytes().substr(0, 0x50), port(0x1011).text().substr(0, 0x50));
    }
    write(port(looks < 3 ? training | 0x11U : 0x43U));
    return true;
  });
  ASSERT_TRUE(done) << done.error().text();
  EXPECT_EQ(looks, 3);
  EXPECT_EQ(done->before.speed_gts, 2.5);
  EXPECT_EQ(done->before.width, 1);
  EXPECT_EQ(done->after.speed_gts, 8.0);
  EXPECT_EQ(done->after.width, 4);
}

TEST_F(Retrain, refusesWhatIsNoPortAndTouchesNothing) {
  const auto never = [] {
    ADD_FAILURE();
    return false;
  };
  EXPECT_EQ(retrain(never).error().kind, ErrorKind::usage);  // nothing is there
  const ConfigBytes disabled = port(0x43).u16(0x50, 1U << 4);
  for (const ConfigBytes& wrong :
       {port(0x43, 0x0), port(0x43, 0x5), ConfigBytes().u16(0x06, 0), disabled}) {
    write(wrong);
    const auto refused = retrain(never);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().kind, ErrorKind::usage);
    EXPECT_EQ(bytes(), wrong.text());
  }
  scratch_.write("sys/bus/pci/devices/0000:00:02.0/config", port(0x43).text().substr(0, 64));
  EXPECT_THAT(retrain(never).error().hint, HasSubstr("root"));
}

TEST_F(Retrain, aLinkThatNeverEndsTrainingIsToldNotWaitedForForEver) {
  write(port(training | 0x11U));
  const auto stopped = retrain([] { return false; });
  ASSERT_FALSE(stopped);
  EXPECT_EQ(stopped.error().kind, ErrorKind::cancelled);
  write(port(training | 0x11U));
  const auto late = retrain([] { return true; });
  ASSERT_FALSE(late);
  EXPECT_EQ(late.error().kind, ErrorKind::timeout);
}

}  // namespace
}  // namespace assay::probes
