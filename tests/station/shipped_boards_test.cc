// The boards that are shipped, each on a tree of files as its kernel shows them: a healthy one
// passes, and each fault is found. Layouts: Documentation/driver-api/thermal/sysfs-api.rst,
// Documentation/filesystems/proc.rst (meminfo, buddyinfo), PCI Express Base 5.0, 7.5.
#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "probes/catalog.h"
#include "station/config/plan.h"
#include "station/config/profile.h"
#include "tests/probes/bench_fixture.h"
#include "tests/probes/pcie/config_bytes.h"

namespace assay::station {
namespace {

using reports::StepState;
using test::ConfigBytes;
using test::Outcome;
using testing::HasSubstr;

std::string shipped(const std::string& name) {
  return std::string(ASSAY_SOURCE "/boards/") + name + ".json";
}

// LnkCap or LnkSta of a speed code (1: 2.5, 2: 5, 3: 8, 4: 16 GT/s) and lanes.
constexpr unsigned lanes_at(unsigned code, unsigned lanes) {
  return code | lanes << 4;
}

class ShippedBoard : public testing::Test {
 protected:
  void use(const std::string& name) {
    bench_.board = parse_profile(LocatedJson::read(shipped(name)).value()).value();
    bench_.write("/proc/buddyinfo",
                 "Node 0, zone      DMA      1      1      1      1      0      1      1      1  "
                 "    0      1      3\n");
  }
  void zone(int number, const std::string& type, std::int64_t mc, std::int64_t critical_mc) {
    const std::string folder = fmt::format("/sys/class/thermal/thermal_zone{}/", number);
    bench_.write(folder + "type", type + "\n");
    bench_.write(folder + "mode", "enabled\n");
    bench_.write(folder + "temp", fmt::format("{}\n", mc));
    bench_.write(folder + "trip_point_0_type", "critical\n");
    bench_.write(folder + "trip_point_0_temp", fmt::format("{}\n", critical_mc));
  }
  void cma(std::int64_t kib) {
    bench_.write("/proc/meminfo", fmt::format("MemTotal:        8245212 kB\nCmaTotal:       "
                                              "{:8} kB\nCmaFree:        {:8} kB\n",
                                              kib, kib / 2));
  }
  // A root port and what hangs on it, alone in a domain.
  void link(int domain, const ConfigBytes& card, unsigned port_can, unsigned runs_at) {
    const auto add = [&](int bus, ConfigBytes config) {
      bench_.write(fmt::format("/sys/bus/pci/devices/{:04x}:{:02x}:00.0/config", domain, bus),
                   config.text());
    };
    add(0, ConfigBytes().u16(0, 0x14E4).u16(2, 0x2712).device_class(0x0604).bridge(1).pci_express(
               0x40, 0x4, port_can, runs_at));
    add(1, ConfigBytes(card).u16(0x50 + 0x12, runs_at));
  }
  static ConfigBytes card(unsigned vendor, unsigned device, unsigned of_class, unsigned can) {
    return ConfigBytes().u16(0, vendor).u16(2, device).device_class(of_class).pci_express(0x50, 0x0,
                                                                                          can, 0);
  }
  static ConfigBytes nvme(unsigned can) { return card(0x144D, 0xA808, 0x0108, can); }

  Outcome run(const std::string& probe) { return bench_.run(*probes::find_probe(probe)); }
  // The steps of the plan for such boards that look at these files.
  void expect_pass() {
    const auto plan = parse_plan(LocatedJson::read(shipped("plans/" + plan_)).value()).value();
    std::size_t looked = 0;
    for (const PlanStep& step : plan.steps) {
      // These look at this machine's RAM and log.
      if (step.probe->name == "memory.test" || step.probe->name == "log.diagnose") continue;
      const Outcome outcome = bench_.run(*step.probe);
      ASSERT_TRUE(outcome.result) << step.id << ": " << outcome.result.error().text();
      EXPECT_EQ(outcome.step.state, StepState::pass) << step.id;
      EXPECT_TRUE(outcome.step.findings.empty()) << step.id;
      ++looked;
    }
    EXPECT_EQ(looked, 3U);
  }
  void expect_found(const std::string& probe, const std::string& code, const std::string& says) {
    const Outcome outcome = run(probe);
    EXPECT_EQ(outcome.step.state, StepState::fail);
    const auto* finding = outcome.finding(code);
    ASSERT_NE(finding, nullptr) << code;
    EXPECT_THAT(finding->message, HasSubstr(says));
    EXPECT_FALSE(finding->likely.empty());
    EXPECT_FALSE(finding->remedy.empty());
  }

  std::string plan_ = "board";
  test::BenchFixture bench_;
};

TEST(ShippedFiles, allBoardsAndPlansLoadUnderTheirNames) {
  std::size_t boards = 0;
  for (const auto& entry : std::filesystem::directory_iterator(ASSAY_SOURCE "/boards")) {
    if (entry.path().extension() != ".json") continue;
    const auto board = parse_profile(LocatedJson::read(entry.path()).value());
    ASSERT_TRUE(board) << board.error().text();
    EXPECT_EQ(board->id, entry.path().stem().string());
    ++boards;
  }
  EXPECT_GE(boards, 6U);
  std::size_t plans = 0;
  for (const auto& entry : std::filesystem::directory_iterator(ASSAY_SOURCE "/boards/plans")) {
    const auto plan = parse_plan(LocatedJson::read(entry.path()).value());
    ASSERT_TRUE(plan) << plan.error().text();
    EXPECT_EQ(plan->id, entry.path().stem().string());
    ++plans;
  }
  EXPECT_GE(plans, 4U);
}

// Many machines have no link, no sensor that the kernel shows, or no error counters.
TEST(ShippedFiles, thePlanForAnyMachineNeedsNothingThatAMachineMayLack) {
  const auto plan = parse_plan(LocatedJson::read(shipped("plans/generic")).value()).value();
  for (const PlanStep& step : plan.steps) {
    test::BenchFixture bare;
    if (step.probe->name != "pcie.link" && step.probe->name != "thermal.read") continue;
    EXPECT_EQ(bare.run(*step.probe).step.state, StepState::skip) << step.id;
    EXPECT_FALSE(step.required) << step.id;
  }
  for (const char* name : {"plans/generic", "plans/board"}) {
    // With a limit, what cannot be observed is an error.
    for (const auto& monitor : parse_plan(LocatedJson::read(shipped(name)).value())->monitors) {
      EXPECT_TRUE(monitor.limits.empty()) << monitor.probe->name;
    }
  }
}

class RaspberryPi5 : public ShippedBoard {
 protected:
  RaspberryPi5() {
    use("raspberry-pi-5");
    zone(0, "cpu-thermal", 52'350, 110'000);
    cma(65'536);
    rp1(lanes_at(2, 4));
  }
  void rp1(unsigned runs_at) {
    link(2, card(0x1DE4, 0x0001, 0x0200, lanes_at(2, 4)), lanes_at(2, 4), runs_at);
  }
};

TEST_F(RaspberryPi5, passesWithAndWithoutWhatItsConnectorMayHold) {
  expect_pass();
  link(1, nvme(lanes_at(4, 4)), lanes_at(2, 1), lanes_at(2, 1));
  expect_pass();
  // At Gen 3, which its owner may have set.
  link(1, nvme(lanes_at(4, 4)), lanes_at(3, 1), lanes_at(3, 1));
  expect_pass();
  // Another Ethernet controller is not the I/O chip.
  link(1, card(0x10EC, 0x8168, 0x0200, lanes_at(1, 1)), lanes_at(2, 1), lanes_at(1, 1));
  expect_pass();
}

TEST_F(RaspberryPi5, anIoChipOnOneLaneIsFound) {
  rp1(lanes_at(2, 1));
  expect_found("pcie.link", "PCIE_LINK_DEGRADED", "RP1 0002:01:00.0 runs at 5.0 GT/s x1");
}

TEST_F(RaspberryPi5, aMissingIoChipIsFound) {
  bench_.write("/sys/bus/pci/devices/0002:01:00.0/config", ConfigBytes().u16(0, 0xFFFF).text());
  expect_found("pcie.link", "PCIE_DEVICE_MISSING", "RP1");
}

TEST_F(RaspberryPi5, aSlowDriveIsFound) {
  link(1, nvme(lanes_at(4, 4)), lanes_at(2, 1), lanes_at(1, 1));
  expect_found("pcie.link", "PCIE_LINK_DEGRADED", "the board needs 5.0 GT/s x1");
}

TEST_F(RaspberryPi5, tooLittleContiguousMemoryIsFoundWithTheArgumentThatMendsIt) {
  cma(32'768);
  const Outcome outcome = run("memory.fragmentation");
  EXPECT_EQ(outcome.step.state, StepState::fail);
  ASSERT_NE(outcome.finding("CMA_TOO_SMALL"), nullptr);
  EXPECT_THAT(outcome.finding("CMA_TOO_SMALL")->message, HasSubstr("32.0 MiB"));
  EXPECT_THAT(outcome.finding("CMA_TOO_SMALL")->remedy, testing::Contains(HasSubstr("cma=64M")));
  EXPECT_EQ(outcome.number("cma_total"), 32'768 * 1024);
}

TEST_F(RaspberryPi5, aKernelWithoutContiguousMemoryIsFound) {
  bench_.write("/proc/meminfo", "MemTotal:        8245212 kB\n");
  expect_found("memory.fragmentation", "CMA_TOO_SMALL", "0.0 MiB");
}

TEST_F(RaspberryPi5, heatAtRestAtWhichItsFirmwareThrottlesIsFound) {
  zone(0, "cpu-thermal", 80'001, 110'000);
  expect_found("thermal.read", "THERMAL_OVER_LIMIT", "the limit is 80.0 C");
}

class Rock5b : public ShippedBoard {
 protected:
  Rock5b() {
    use("rock-5b");
    zones("package-thermal", "bigcore2-thermal");
    cma(8'192);
    link(4, card(0x10EC, 0x8125, 0x0200, lanes_at(2, 1)), lanes_at(2, 1), lanes_at(2, 1));
  }
  // Kernels differ in two names.
  void zones(const char* package, const char* second_big) {
    int number = 0;
    for (const char* type : {package, "bigcore0-thermal", second_big, "littlecore-thermal",
                             "center-thermal", "gpu-thermal", "npu-thermal"}) {
      zone(number++, type, 41'600, 115'000);
    }
  }
};

TEST_F(Rock5b, passesWithTheZonesOfEitherKernel) {
  expect_pass();
  zones("soc-thermal", "bigcore1-thermal");
  expect_pass();
}

TEST_F(Rock5b, passesWithDrivesOfFewerLanesAndOlderGenerations) {
  for (const unsigned can : {lanes_at(4, 4), lanes_at(3, 4), lanes_at(3, 2), lanes_at(2, 4)}) {
    const unsigned speed = std::min(can & 0xFU, 3U);
    link(0, nvme(can), lanes_at(3, 4), speed | (can & 0xF0U));
    expect_pass();
  }
}

TEST_F(Rock5b, aDriveOnOneLaneIsFound) {
  link(0, nvme(lanes_at(4, 4)), lanes_at(3, 4), lanes_at(3, 1));
  expect_found("pcie.link", "PCIE_LINK_DEGRADED", "8.0 GT/s x1; the board needs 8.0 GT/s x4");
}

TEST_F(Rock5b, aHotNpuIsFoundThoughTheRestIsCool) {
  zone(6, "npu-thermal", 75'100, 115'000);
  expect_found("thermal.read", "THERMAL_OVER_LIMIT", "thermal_zone6 npu-thermal reads 75.1 C");
}

TEST_F(Rock5b, aZoneThatIsNotThereCannotBeTested) {
  zone(5, "battery", 41'600, 115'000);
  const Outcome outcome = run("thermal.read");
  ASSERT_FALSE(outcome.result);
  EXPECT_THAT(outcome.result.error().what, HasSubstr("gpu-thermal"));
}

TEST_F(Rock5b, lessContiguousMemoryThanItsKernelsShipIsFound) {
  cma(4'096);
  expect_found("memory.fragmentation", "CMA_TOO_SMALL", "needs 8.0 MiB");
}

// What no profile says of them: a critical trip point, and what both ends of a link can do.
class GenericMachine : public ShippedBoard, public testing::WithParamInterface<const char*> {
 protected:
  GenericMachine() {
    use(GetParam());
    plan_ = "generic";
    zone(0, "soc-thermal", 40'000, 105'000);
    bench_.write("/proc/meminfo", "MemTotal:        8245212 kB\n");
    link(0, nvme(lanes_at(4, 4)), lanes_at(3, 4), lanes_at(3, 4));
  }
};

TEST_P(GenericMachine, passesWhereTheLinkIsAsGoodAsBothEndsCanBe) {
  expect_pass();
}

TEST_P(GenericMachine, aLinkBelowWhatBothEndsCanDoIsFound) {
  link(0, nvme(lanes_at(4, 4)), lanes_at(3, 4), lanes_at(3, 1));
  expect_found("pcie.link", "PCIE_LINK_DEGRADED", "the board needs 8.0 GT/s x4");
}

TEST_P(GenericMachine, withoutADriveTellsWhatLinksThereAre) {
  link(0, card(0x8086, 0x15F3, 0x0200, lanes_at(2, 1)), lanes_at(3, 1), lanes_at(2, 1));
  expect_pass();
  const Outcome outcome = run("pcie.link");
  EXPECT_EQ(outcome.number("link_speed", "0000:01:00.0"), 5.0);
  EXPECT_EQ(outcome.step.headline, "2 links");
}

TEST_P(GenericMachine, aZoneAtItsCriticalTripPointIsFound) {
  zone(0, "soc-thermal", 105'000, 105'000);
  expect_found("thermal.read", "THERMAL_OVER_LIMIT", "critical temperature is 105.0 C");
}

INSTANTIATE_TEST_SUITE_P(Shipped, GenericMachine,
                         testing::Values("generic-arm64", "generic-x86-64"));

}  // namespace
}  // namespace assay::station
