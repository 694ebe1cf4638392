#include "probes/pcie/config_space.h"

#include <gtest/gtest.h>

#include <random>

#include "tests/probes/pcie/config_bytes.h"

namespace assay::probes {
namespace {

using test::ConfigBytes;

// Fields by hand from PCI Express Base 5.0, 7.5.3.6: bits 3:0 speed, 9:4 width.
constexpr std::uint32_t gen3_x4 = 0x0043F443;

std::optional<PciFunction> decode(const ConfigBytes& config) {
  return decode_config_space(config.bytes(), "0000:01:00.0");
}

TEST(ConfigSpace, decodesHeaderAndLinkOfAnEndpoint) {
  for (const std::size_t size : {256U, 4096U}) {
    const auto f = decode(ConfigBytes(size).pci_express(0x50, 0x0, gen3_x4, 0x1011));
    ASSERT_TRUE(f);
    EXPECT_EQ(f->vendor, 0x1E36);
    EXPECT_EQ(f->device, 0x0006);
    EXPECT_EQ(f->class_code, 0x1200U);
    EXPECT_FALSE(f->is_bridge);
    EXPECT_FALSE(f->cut);
    ASSERT_TRUE(f->express);
    EXPECT_EQ(f->express->type, PortType::endpoint);
    ASSERT_NE(f->link(), nullptr);
    EXPECT_EQ(f->link()->lnkcap, gen3_x4);
    EXPECT_EQ(f->link()->max_speed_gts, 8.0);
    EXPECT_EQ(f->link()->max_width, 4);
    EXPECT_EQ(f->link()->speed_gts, 2.5);
    EXPECT_EQ(f->link()->width, 1);
    EXPECT_EQ(f->slot(), nullptr);
  }
}

TEST(ConfigSpace, knowsEverySpeedAndWidth) {
  const double speeds[] = {0, 2.5, 5, 8, 16, 32, 64};
  for (unsigned code = 0; code < 16; ++code) {
    EXPECT_EQ(speed_of_code(code), code < 7 ? speeds[code] : 0) << code;
    for (const unsigned width : {0U, 1U, 2U, 4U, 8U, 12U, 16U, 32U}) {
      // Link Training and the other bits above do not matter.
      const auto f =
          decode(ConfigBytes().pci_express(0x40, 0, code | width << 4, 0xFC00 | code | width << 4));
      ASSERT_TRUE(f && f->link() != nullptr);
      EXPECT_EQ(f->link()->speed_gts, speed_of_code(code));
      EXPECT_EQ(f->link()->max_speed_gts, speed_of_code(code));
      EXPECT_EQ(f->link()->width, static_cast<int>(width));
      EXPECT_EQ(f->link()->max_width, static_cast<int>(width));
    }
  }
}

TEST(ConfigSpace, laneBandwidthsAreThePublishedOnes) {
  // PCI-SIG's table, GB/s a lane each way.
  EXPECT_NEAR(lane_bandwidth_gbps(2.5), 0.250, 0.0005);
  EXPECT_NEAR(lane_bandwidth_gbps(5.0), 0.500, 0.0005);
  EXPECT_NEAR(lane_bandwidth_gbps(8.0), 0.985, 0.0005);
  EXPECT_NEAR(lane_bandwidth_gbps(16.0), 1.969, 0.0005);
  EXPECT_NEAR(lane_bandwidth_gbps(32.0), 3.938, 0.0005);
  EXPECT_NEAR(lane_bandwidth_gbps(64.0), 7.375, 0.2);
  EXPECT_EQ(lane_bandwidth_gbps(0), 0);
}

TEST(ConfigSpace, findsTheCapabilityBehindOthersWhateverTheReservedBits) {
  ConfigBytes config;
  config.pci_express(0x70, 0x1, gen3_x4, 0x0043);
  // The low two bits of a pointer are to be masked (7.5.1.1.11).
  config.first_capability(0x41).capability(0x40, 0x01, 0x52).capability(0x50, 0x05, 0x73);
  const auto f = decode(config);
  ASSERT_TRUE(f && f->link() != nullptr);
  EXPECT_EQ(f->express->type, PortType::legacy_endpoint);
  EXPECT_EQ(f->link()->speed_gts, 8.0);
}

TEST(ConfigSpace, aLoopOfCapabilitiesEnds) {
  for (const unsigned back_to : {0x40U, 0x50U}) {
    ConfigBytes config;
    config.first_capability(0x40).capability(0x40, 0x01, 0x50).capability(0x50, 0x05, back_to);
    const auto f = decode(config);
    ASSERT_TRUE(f);
    EXPECT_FALSE(f->express);
    EXPECT_EQ(f->link(), nullptr);
  }
}

TEST(ConfigSpace, aPointerIntoTheHeaderOrBeyondTheEndGivesNoLink) {
  for (unsigned at = 0; at < 64; ++at) {
    const auto f = decode(ConfigBytes().first_capability(at));
    ASSERT_TRUE(f);
    EXPECT_EQ(f->link(), nullptr);
    EXPECT_FALSE(f->cut);
  }
  // The last four bytes hold an ID and a pointer, and nothing of the registers.
  const auto at_end = decode(ConfigBytes().first_capability(0xFC).capability(0xFC, 0x10, 0));
  ASSERT_TRUE(at_end);
  EXPECT_EQ(at_end->link(), nullptr);
  EXPECT_TRUE(at_end->cut);
}

TEST(ConfigSpace, withoutTheListBitThereIsNoList) {
  const auto f = decode(ConfigBytes().pci_express(0x40, 0, gen3_x4, 0x0043).u16(0x06, 0x0000));
  ASSERT_TRUE(f);
  EXPECT_FALSE(f->express);
  EXPECT_EQ(f->link(), nullptr);
  EXPECT_FALSE(f->cut);
}

TEST(ConfigSpace, partsOfTheRootComplexHaveNoLink) {
  for (const unsigned type : {0x9U, 0xAU}) {
    const auto f = decode(ConfigBytes().pci_express(0x40, type, gen3_x4, 0x0043));
    ASSERT_TRUE(f);
    ASSERT_TRUE(f->express);
    EXPECT_EQ(f->express->type, static_cast<PortType>(type));
    EXPECT_EQ(f->link(), nullptr);
    EXPECT_FALSE(f->cut);
  }
}

TEST(ConfigSpace, readsABridgeAndItsSlot) {
  ConfigBytes config;
  config.device_class(0x0604)
      .pci_express(0x40, 0x4, gen3_x4, 0x1043)
      .bridge(0x2A)
      .slot(0x40, 25, 0);
  auto f = decode(config);
  ASSERT_TRUE(f);
  EXPECT_TRUE(f->is_bridge);
  EXPECT_EQ(f->secondary_bus, 0x2A);
  EXPECT_EQ(f->express->type, PortType::root_port);
  ASSERT_NE(f->slot(), nullptr);
  EXPECT_EQ(f->slot()->power_limit_w, 25.0);
  // A multi-function bridge has the top bit of its header type set.
  f = decode(config.u8(0x0E, 0x81));
  EXPECT_TRUE(f->is_bridge);
  // Without a slot the register means nothing.
  f = decode(config.u8(0x43, 0x00));
  EXPECT_EQ(f->slot(), nullptr);
}

TEST(ConfigSpace, slotPowerLimitsHaveScalesAndFixedSteps) {
  const auto limit = [](unsigned value, unsigned scale) {
    ConfigBytes config;
    config.pci_express(0x40, 0x4, gen3_x4, 0x1043).bridge(1).slot(0x40, value, scale);
    return decode(config)->slot()->power_limit_w;
  };
  EXPECT_DOUBLE_EQ(*limit(75, 0), 75.0);
  EXPECT_DOUBLE_EQ(*limit(250, 1), 25.0);
  EXPECT_DOUBLE_EQ(*limit(250, 2), 2.5);
  EXPECT_DOUBLE_EQ(*limit(250, 3), 0.25);
  EXPECT_DOUBLE_EQ(*limit(0xEF, 0), 239.0);
  EXPECT_DOUBLE_EQ(*limit(0xF0, 0), 250.0);
  EXPECT_DOUBLE_EQ(*limit(0xF1, 0), 275.0);
  EXPECT_DOUBLE_EQ(*limit(0xF2, 0), 300.0);
  EXPECT_DOUBLE_EQ(*limit(0xF3, 0), 325.0);
  // Reserved: more than the table has. That is not a slot which grants 0 W.
  EXPECT_FALSE(limit(0xF4, 0));
  EXPECT_FALSE(limit(0xFF, 0));
  EXPECT_DOUBLE_EQ(*limit(0xFF, 1), 25.5);
}

TEST(ConfigSpace, whatIsNoFunctionGivesNothing) {
  EXPECT_FALSE(decode_config_space({}, "x"));
  const std::vector<std::uint8_t> gone(256, 0xFF);
  EXPECT_FALSE(decode_config_space(gone, "x"));
}

TEST(ConfigSpace, cutAnywhereItNeverShowsARegisterThatIsNotInTheBytes) {
  constexpr std::size_t at = 0x60;
  ConfigBytes config;
  config.pci_express(at, 0x4, gen3_x4, 0x0043).bridge(1).slot(at, 25, 0);
  config.first_capability(0x40).capability(0x40, 0x01, at);
  for (std::size_t length = 0; length <= 256; ++length) {
    // A copy of exactly that length, so that a sanitizer sees a read beyond it.
    const std::vector<std::uint8_t> cut(config.bytes().begin(), config.bytes().begin() + length);
    const auto f = decode_config_space(cut, "0000:00:02.0");
    ASSERT_EQ(f.has_value(), length >= 64) << length;
    if (!f) continue;
    EXPECT_EQ(f->link() != nullptr, length >= at + 0x14) << length;
    EXPECT_EQ(f->slot() != nullptr, length >= at + 0x1C) << length;
    EXPECT_EQ(f->express && f->express->link2, length >= at + 0x34) << length;
    EXPECT_EQ(f->cut, length < at + 0x34) << length;
    // The header is whole: a bridge is known without root.
    EXPECT_TRUE(f->is_bridge);
    EXPECT_EQ(f->secondary_bus, 1);
  }
}

TEST(ConfigSpace, randomBytesNeverLeadOutOfThem) {
  std::mt19937 random(4);
  for (int round = 0; round < 20'000; ++round) {
    std::vector<std::uint8_t> bytes(64 + random() % 200);
    for (auto& b : bytes) {
      b = static_cast<std::uint8_t>(random() % 3 == 0 ? 0x10 : random() % 3 == 0 ? 0x40 : random());
    }
    const auto f = decode_config_space(bytes, "x");
    if (!f || f->link() == nullptr) continue;
    ASSERT_TRUE(f->express);
    ASSERT_LT(f->link()->width, 64);
  }
}

}  // namespace
}  // namespace assay::probes
