#include "probes/pcie/pcie_link.h"

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/probes/bench_fixture.h"
#include "tests/probes/pcie/config_bytes.h"

namespace assay::probes {
namespace {

using reports::StepState;
using test::ConfigBytes;
using test::Outcome;
using testing::Contains;
using testing::HasSubstr;

// LnkCap and LnkSta of speed code and width.
constexpr unsigned link(unsigned code, unsigned width) {
  return code | width << 4;
}

class PcieLink : public testing::Test {
 protected:
  PcieLink() {
    bench_.board.pcie.push_back({.name = "NPU",
                                 .device_class = 0x1200,
                                 .speed_gts = 8.0,
                                 .width = 4,
                                 .peak_power_w = 32.0});
  }

  void add(const std::string& address, const ConfigBytes& config) {
    bench_.write("/sys/bus/pci/devices/" + address + "/config", config.text());
  }
  static ConfigBytes npu(unsigned lnksta) {
    return ConfigBytes().pci_express(0x50, 0x0, link(4, 4), lnksta);
  }
  static ConfigBytes root_port(unsigned bus, unsigned slot_w) {
    return ConfigBytes()
        .device_class(0x0604)
        .pci_express(0x40, 0x4, link(3, 4), link(3, 4))
        .bridge(bus)
        .slot(0x40, slot_w, 0);
  }
  Outcome run() { return bench_.run(pcie_link_probe()); }

  test::BenchFixture bench_;
};

TEST_F(PcieLink, passesALinkThatIsAsFastAndWideAsTheBoardNeeds) {
  add("0000:00:02.0", root_port(1, 75));
  add("0000:01:00.0", npu(link(3, 4)));
  const Outcome outcome = run();
  ASSERT_TRUE(outcome.result);
  EXPECT_EQ(outcome.step.state, StepState::pass);
  EXPECT_EQ(outcome.number("link_speed", "0000:01:00.0"), 8.0);
  EXPECT_EQ(outcome.number("link_width", "0000:01:00.0"), 4);
  EXPECT_NEAR(outcome.number("link_bandwidth"), 3.94, 0.005);
  EXPECT_EQ(outcome.number("functions"), 2);
  EXPECT_TRUE(outcome.step.findings.empty());
}

TEST_F(PcieLink, passesALinkThatIsBetterThanNeeded) {
  add("0000:01:00.0", npu(link(4, 8)));
  EXPECT_EQ(run().step.state, StepState::pass);
}

TEST_F(PcieLink, failsASlowOrNarrowLinkWithItsRegisters) {
  for (const auto& [lnksta, text] : {std::pair{0x1011U, "2.5 GT/s x1"},
                                     {link(3, 1), "8.0 GT/s x1"},
                                     {link(1, 4), "2.5 GT/s x4"}}) {
    add("0000:00:02.0", root_port(1, 75));
    add("0000:01:00.0", npu(lnksta));
    const Outcome outcome = run();
    EXPECT_EQ(outcome.step.state, StepState::fail);
    const auto* finding = outcome.finding("PCIE_LINK_DEGRADED");
    ASSERT_NE(finding, nullptr);
    EXPECT_THAT(finding->message, HasSubstr(text));
    EXPECT_THAT(finding->message, HasSubstr("8.0 GT/s x4"));
    EXPECT_THAT(finding->evidence, Contains(HasSubstr(fmt::format("LnkSta {:#06x}", lnksta))));
    EXPECT_THAT(finding->where, HasSubstr("0000:00:02.0"));
    // 75 W are enough: power is not to blame.
    for (const auto& cause : finding->likely) EXPECT_THAT(cause, testing::Not(HasSubstr("75 W")));
  }
}

TEST_F(PcieLink, blamesASlotThatGrantsLessThanTheDevicesPeak) {
  add("0000:00:03.0", root_port(1, 25));
  add("0000:01:00.0", npu(0x1011));
  const Outcome outcome = run();
  const auto* finding = outcome.finding("PCIE_LINK_DEGRADED");
  ASSERT_NE(finding, nullptr);
  EXPECT_THAT(finding->likely.front(), HasSubstr("25 W"));
  EXPECT_THAT(finding->likely.front(), HasSubstr("32 W"));
  EXPECT_THAT(finding->remedy.front(), HasSubstr("32 W or more"));
}

TEST_F(PcieLink, doesNotBlameASlotWhoseLimitIsReserved) {
  add("0000:00:03.0", root_port(1, 0xFE));
  add("0000:01:00.0", npu(0x1011));
  const Outcome outcome = run();
  const auto* finding = outcome.finding("PCIE_LINK_DEGRADED");
  ASSERT_NE(finding, nullptr);
  for (const auto& cause : finding->likely)
    EXPECT_THAT(cause, testing::Not(HasSubstr("grants 0 W")));
}

TEST_F(PcieLink, eachEntryOfTheProfileWantsADeviceOfItsOwn) {
  bench_.board.pcie.push_back(bench_.board.pcie.front());
  add("0000:01:00.0", npu(0x1043));
  EXPECT_NE(run().finding("PCIE_DEVICE_MISSING"), nullptr);
  add("0000:02:00.0", npu(0x1043));
  EXPECT_EQ(run().finding("PCIE_DEVICE_MISSING"), nullptr);
  // A third one is judged too.
  add("0000:03:00.0", npu(0x1011));
  EXPECT_NE(run().finding("PCIE_LINK_DEGRADED"), nullptr);
}

TEST_F(PcieLink, failsWhenTheDeviceIsMissing) {
  add("0000:00:02.0", root_port(1, 75));
  const Outcome outcome = run();
  EXPECT_EQ(outcome.step.state, StepState::fail);
  ASSERT_NE(outcome.finding("PCIE_DEVICE_MISSING"), nullptr);
  EXPECT_THAT(outcome.finding("PCIE_DEVICE_MISSING")->message, HasSubstr("0x1200"));
}

TEST_F(PcieLink, warnsOfAClaimThatItsOwnLinkCannotCarry) {
  // 15.8 GB/s is Gen4 x4 both ways added; Gen3 x4 carries 3.94.
  bench_.board.pcie[0].claimed_gbps = 15.8;
  add("0000:01:00.0", npu(link(3, 4)));
  Outcome outcome = run();
  EXPECT_EQ(outcome.step.state, StepState::pass);
  const auto* finding = outcome.finding("PCIE_CLAIM_EXCEEDS_LINK");
  ASSERT_NE(finding, nullptr);
  EXPECT_EQ(finding->kind, reports::FindingKind::observation);
  EXPECT_THAT(finding->message, HasSubstr("15.8"));
  EXPECT_THAT(finding->message, HasSubstr("3.94"));

  bench_.board.pcie[0].claimed_gbps = 3.9;
  EXPECT_EQ(run().finding("PCIE_CLAIM_EXCEEDS_LINK"), nullptr);
}

TEST_F(PcieLink, cannotTestWithTheHeaderAlone) {
  // What the kernel shows without root: 64 bytes.
  for (const auto& [address, config] :
       {std::pair{"0000:00:02.0", root_port(1, 75)}, {"0000:01:00.0", npu(link(3, 4))}}) {
    bench_.write(std::string("/sys/bus/pci/devices/") + address + "/config",
                 config.text().substr(0, 64));
  }
  const Outcome outcome = run();
  ASSERT_FALSE(outcome.result);
  EXPECT_EQ(outcome.result.error().kind, ErrorKind::unavailable);
  EXPECT_THAT(outcome.result.error().hint, HasSubstr("root"));
  EXPECT_EQ(outcome.step.state, StepState::error);
  EXPECT_TRUE(outcome.step.findings.empty());
}

TEST_F(PcieLink, aBusOnWhichNothingAnswersMissesTheBoardsDevice) {
  std::filesystem::create_directories(bench_.root() / "sys/bus/pci/devices");
  const Outcome outcome = run();
  EXPECT_EQ(outcome.step.state, StepState::fail);
  EXPECT_NE(outcome.finding("PCIE_DEVICE_MISSING"), nullptr);
}

TEST_F(PcieLink, aKernelWithoutPciCannotTestABoardThatHasALink) {
  const Outcome outcome = run();
  ASSERT_FALSE(outcome.result);
  EXPECT_EQ(outcome.result.error().where, "/sys/bus/pci/devices");
  EXPECT_TRUE(outcome.step.findings.empty());
}

TEST_F(PcieLink, skipsAMachineWithoutPciWhereNoneMustBe) {
  bench_.board.pcie[0].optional = true;
  EXPECT_EQ(run().step.state, StepState::skip);
  std::filesystem::create_directories(bench_.root() / "sys/bus/pci/devices");
  EXPECT_EQ(run().step.state, StepState::skip);
}

TEST_F(PcieLink, withoutAProfileListsLinksAndJudgesNone) {
  bench_.board.pcie.clear();
  add("0000:01:00.0", npu(0x1011));
  const Outcome outcome = run();
  EXPECT_EQ(outcome.step.state, StepState::pass);
  EXPECT_EQ(outcome.number("link_speed", "0000:01:00.0"), 2.5);
  // Devices without a PCI Express capability: nothing to judge, and no fault.
  test::BenchFixture plain;
  plain.write("/sys/bus/pci/devices/0000:00:01.0/config", ConfigBytes().u16(0x06, 0).text());
  EXPECT_EQ(plain.run(pcie_link_probe()).step.state, StepState::skip);
}

TEST_F(PcieLink, findsThePortInTheDevicesOwnDomain) {
  // The same bus number in two domains: only 0001's port is above the NPU.
  add("0000:00:02.0", root_port(1, 25));
  add("0001:00:02.0", root_port(1, 75));
  add("0001:01:00.0", npu(0x1011));
  const Outcome outcome = run();
  const auto* finding = outcome.finding("PCIE_LINK_DEGRADED");
  ASSERT_NE(finding, nullptr);
  EXPECT_THAT(finding->where, HasSubstr("0001:00:02.0"));
  EXPECT_THAT(finding->evidence, Contains(HasSubstr("75 W")));
}

TEST_F(PcieLink, readsDomainsWiderThanFourDigits) {
  // As VMD controllers number theirs.
  add("10000:00:02.0", root_port(0xE1, 25));
  add("10000:e1:00.0", npu(0x1011));
  const Outcome outcome = run();
  ASSERT_NE(outcome.finding("PCIE_LINK_DEGRADED"), nullptr);
  EXPECT_THAT(outcome.finding("PCIE_LINK_DEGRADED")->where, HasSubstr("10000:00:02.0"));
}

TEST_F(PcieLink, leavesOutFunctionsThatVanish) {
  add("0000:01:00.0", npu(link(3, 4)));
  add("0000:02:00.0", ConfigBytes().u16(0x00, 0xFFFF));
  std::filesystem::create_directories(bench_.root() / "sys/bus/pci/devices/0000:03:00.0");
  const Outcome outcome = run();
  EXPECT_EQ(outcome.step.state, StepState::pass);
  EXPECT_EQ(outcome.number("functions"), 1);
}

}  // namespace
}  // namespace assay::probes
