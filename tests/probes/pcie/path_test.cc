#include "probes/pcie/path.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/probes/pcie/config_bytes.h"

namespace assay::probes {
namespace {

using test::ConfigBytes;

constexpr unsigned endpoint = 0x0;
constexpr unsigned root_port = 0x4;
constexpr unsigned upstream = 0x5;
constexpr unsigned downstream = 0x6;

PciFunction function(const std::string& address, unsigned type, unsigned max_code,
                     unsigned max_width, unsigned code, unsigned width, unsigned secondary = 0,
                     unsigned slot_w = 0) {
  ConfigBytes config;
  config.pci_express(0x40, type, max_code | max_width << 4, code | width << 4);
  if (secondary != 0) config.bridge(secondary);
  if (slot_w != 0) config.slot(0x40, slot_w, 0);
  return decode_config_space(config.bytes(), address).value();
}

// Root port, a switch (bus 1: its upstream port; bus 2: its downstream ports), an endpoint.
std::vector<PciFunction> behind_a_switch(unsigned uplink_code, unsigned uplink_width) {
  return {function("0000:00:02.0", root_port, 4, 4, uplink_code, uplink_width, 1, 75),
          function("0000:01:00.0", upstream, 4, 8, uplink_code, uplink_width, 2),
          function("0000:02:03.0", downstream, 3, 4, 3, 4, 3),
          function("0000:02:04.0", downstream, 3, 4, 1, 1, 4),
          function("0000:03:00.0", endpoint, 4, 4, 3, 4)};
}

TEST(PciePath, goesFromTheRootPortThroughASwitchToTheEndpoint) {
  const auto all = behind_a_switch(4, 4);
  const auto path = path_to(all, all.back());
  ASSERT_EQ(path.size(), 2U);
  EXPECT_EQ(path[0].port, &all[0]);
  EXPECT_EQ(path[0].below, &all[1]);
  EXPECT_EQ(path[0].speed_gts, 16.0);
  EXPECT_EQ(path[0].possible_width, 4);  // the root port's four, not the switch's eight
  EXPECT_EQ(path[1].port, &all[2]);
  EXPECT_EQ(path[1].below, &all[4]);
  EXPECT_EQ(path[1].possible_speed_gts, 8.0);  // the switch's eight, not the endpoint's sixteen
  EXPECT_EQ(narrowest(path), &path[1]);
  EXPECT_EQ(port_with_slot(path), &all[0]);
}

TEST(PciePath, namesAnUplinkThatIsNarrowerThanTheLinkBelowIt) {
  const auto all = behind_a_switch(4, 1);  // 1.97 GB/s above 3.94
  const auto path = path_to(all, all.back());
  EXPECT_EQ(narrowest(path), path.data());
  EXPECT_NEAR(narrowest(path)->bandwidth_gbps(), 1.97, 0.005);
  EXPECT_NEAR(narrowest(path)->possible_bandwidth_gbps(), 7.88, 0.005);
}

TEST(PciePath, anUplinkOfTheSwitchIsItsOwnHopAlone) {
  const auto all = behind_a_switch(4, 4);
  EXPECT_EQ(path_to(all, all[1]).size(), 1U);
  // A downstream port's own link is below it and belongs to what hangs on it.
  EXPECT_EQ(path_to(all, all[3]).size(), 1U);
}

TEST(PciePath, withoutAPortAboveTheLinkItselfIsTheWay) {
  const std::vector<PciFunction> all = {function("0000:01:00.0", endpoint, 4, 4, 1, 1)};
  const auto path = path_to(all, all[0]);
  ASSERT_EQ(path.size(), 1U);
  EXPECT_EQ(path[0].port, nullptr);
  EXPECT_EQ(path[0].possible_speed_gts, 16.0);
  EXPECT_EQ(port_with_slot(path), nullptr);
}

TEST(PciePath, aFunctionWithoutALinkHasNone) {
  const auto plain = decode_config_space(ConfigBytes().u16(0x06, 0).bytes(), "0000:00:01.0");
  EXPECT_TRUE(path_to({*plain}, *plain).empty());
  EXPECT_EQ(narrowest({}), nullptr);
}

TEST(PciePath, bridgesThatLeadInACircleEnd) {
  std::vector<PciFunction> all = {function("0000:01:00.0", downstream, 3, 4, 3, 4, 2),
                                  function("0000:02:00.0", downstream, 3, 4, 3, 4, 1),
                                  function("0000:01:01.0", endpoint, 3, 4, 3, 4)};
  EXPECT_EQ(path_to(all, all[2]).size(), 1U);
  all[0].address = "0000:02:01.0";  // on the bus that it leads to
  EXPECT_LE(path_to(all, all[1]).size(), 256U);
}

}  // namespace
}  // namespace assay::probes
