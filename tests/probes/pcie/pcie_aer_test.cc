#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "probes/pcie/error_rate.h"
#include "probes/pcie/pcie_link.h"
#include "tests/probes/bench_fixture.h"

namespace assay::probes {
namespace {

using reports::StepState;
using test::Outcome;
using testing::HasSubstr;

class PcieAer : public testing::Test {
 protected:
  void count(const std::string& address, const std::string& total) {
    bench_.write(
        "/sys/bus/pci/devices/" + address + "/aer_dev_correctable",
        "RxErr 1\nBadTLP 0\nBadDLLP 0\nRollover 0\nTimeout 0\nNonFatalErr 0\nCorrIntErr 0\n"
        "HeaderOF 0\nTOTAL_ERR_COR " +
            total + "\n");
  }
  test::BenchFixture bench_;
};

TEST_F(PcieAer, countsWhatCameSinceTheStepBegan) {
  count("0000:00:02.0", "10");
  count("0000:01:00.0", "5");
  const Outcome outcome = bench_.monitor(pcie_aer_probe(), [&](Monitor& monitor) {
    ASSERT_TRUE(monitor.sample());
    count("0000:01:00.0", "8");
    ASSERT_TRUE(monitor.sample());
    count("0000:00:02.0", "11");
    ASSERT_TRUE(monitor.sample());
  });
  const auto* series = outcome.series("corrected_errors");
  ASSERT_NE(series, nullptr);
  EXPECT_THAT(series->recent, testing::ElementsAre(0, 3, 4));
  EXPECT_EQ(outcome.step.state, StepState::pass);
}

TEST_F(PcieAer, failsTheStepBeyondThePlansLimit) {
  count("0000:01:00.0", "5");
  const Outcome outcome = bench_.monitor(
      pcie_aer_probe(),
      [&](Monitor& monitor) {
        ASSERT_TRUE(monitor.sample());
        count("0000:01:00.0", "6");
        ASSERT_TRUE(monitor.sample());
        ASSERT_TRUE(monitor.sample());
      },
      {{"corrected_errors",
        {reports::make_validator(reports::Comparison::equal, std::int64_t{0}, "1")}}});
  EXPECT_EQ(outcome.step.state, StepState::fail);
  EXPECT_EQ(outcome.series("corrected_errors")->outside, 2U);
  ASSERT_EQ(outcome.step.findings.size(), 1U);  // said once
  EXPECT_EQ(outcome.step.findings[0].finding.code, "PCIE_AER_ERRORS");
  EXPECT_FALSE(outcome.step.findings[0].finding.evidence.empty());
}

TEST_F(PcieAer, aDeviceThatVanishesTakesNoErrorsWithIt) {
  count("0000:00:02.0", "10");
  count("0000:01:00.0", "5");
  const Outcome outcome = bench_.monitor(pcie_aer_probe(), [&](Monitor& monitor) {
    count("0000:01:00.0", "8");
    ASSERT_TRUE(monitor.sample());
    std::filesystem::remove_all(bench_.root() / "sys/bus/pci/devices/0000:01:00.0");
    ASSERT_TRUE(monitor.sample());
  });
  EXPECT_THAT(outcome.series("corrected_errors")->recent, testing::ElementsAre(3, 3));
}

// What was lost is never right, whatever a plan allows of corrected ones.
TEST_F(PcieAer, oneUncorrectedErrorIsAFinding) {
  for (const char* kind : {"nonfatal", "fatal"}) {
    test::BenchFixture bench;
    const std::string file = std::string("/sys/bus/pci/devices/0000:01:00.0/aer_dev_") + kind;
    const std::string total = std::string("TOTAL_ERR_") + (kind[0] == 'n' ? "NONFATAL " : "FATAL ");
    bench.write(file, "Undefined 0\nDLP 0\n" + total + "2\n");
    const Outcome outcome = bench.monitor(pcie_aer_probe(), [&](Monitor& monitor) {
      ASSERT_TRUE(monitor.sample());
      bench.write(file, "Undefined 0\nDLP 1\n" + total + "3\n");
      ASSERT_TRUE(monitor.sample());
    });
    EXPECT_EQ(outcome.step.state, StepState::fail);
    ASSERT_NE(outcome.finding("PCIE_AER_ERRORS"), nullptr);
    EXPECT_THAT(outcome.finding("PCIE_AER_ERRORS")->evidence.front(),
                HasSubstr("2 at first, 3 now"));
  }
}

TEST_F(PcieAer, noneInAShortTimeIsNoProofThatThereAreNone) {
  count("0000:01:00.0", "5");
  const Outcome outcome =
      bench_.monitor(pcie_aer_probe(), [](Monitor& monitor) { ASSERT_TRUE(monitor.sample()); });
  const auto& aer = outcome.step.details.at("aer");
  const double hours = aer.at("seconds").get<double>() / 3600;
  EXPECT_EQ(aer.at("corrected").at("errors"), 0);
  EXPECT_EQ(aer.at("corrected").at("per_hour"), 0);
  EXPECT_NEAR(aer.at("corrected").at("per_hour_at_most_95").get<double>() * hours, 2.996, 0.001);
}

// Half the quantiles of the chi-squared distribution with 2 (n + 1) degrees of freedom, as tables
// have them.
TEST(ErrorRate, boundsAreThePublishedOnes) {
  const std::pair<std::int64_t, double> published[] = {
      {0, 2.996}, {1, 4.744}, {2, 6.296}, {3, 7.754}, {5, 10.513}, {10, 16.962}, {20, 29.062}};
  for (const auto& [events, bound] : published) {
    EXPECT_NEAR(poisson_upper_bound(events), bound, 0.001) << events;
  }
  // The sum and what is taken beyond it meet.
  EXPECT_NEAR(poisson_upper_bound(1001) - poisson_upper_bound(1000), 1.0, 0.05);
}

TEST_F(PcieAer, isUnavailableWithoutCounters) {
  std::filesystem::create_directories(bench_.root() / "sys/bus/pci/devices/0000:01:00.0");
  const Outcome outcome = bench_.monitor(pcie_aer_probe(), [](Monitor&) { FAIL(); });
  ASSERT_FALSE(outcome.result);
  EXPECT_EQ(outcome.result.error().kind, ErrorKind::unavailable);
}

}  // namespace
}  // namespace assay::probes
