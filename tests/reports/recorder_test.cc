#include "reports/record/recorder.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>

#include <cmath>
#include <sstream>
#include <thread>

#include "reports/summary/run_summary.h"
#include "tests/support/program.h"

namespace assay::reports {
namespace {

class RecorderTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto made = Recorder::create(path());
    ASSERT_TRUE(made);
    recorder_ = std::move(*made);
    RunStart start{.name = "t", .version = "0", .command_line = ""};
    start.dut_info = {{"dutInfoId", "sn"}};
    recorder_->run_start(std::move(start));
  }
  std::string path() const { return folder_ / "journal.jsonl"; }
  RunSummary summary() const { return summarize_journal(path()).value(); }
  std::size_t count(const std::string& text) const {
    std::istringstream lines(test::read_file(path()));
    std::size_t found = 0;
    for (std::string line; std::getline(lines, line);)
      found += line.find(text) != std::string::npos;
    return found;
  }

  test::TemporaryFolder folder_;
  std::unique_ptr<Recorder> recorder_;
};

TEST_F(RecorderTest, holdsMeasurementsAgainstThePlansAndTheProfilesLimits) {
  const auto step = recorder_->begin_step(
      "s", "probe", {{"speed", {make_validator(Comparison::less_or_equal, 16.0, "GT/s")}}});
  const auto at_least_8 = make_validator(Comparison::greater_or_equal, 8.0, "GT/s");
  EXPECT_TRUE(step->measure("speed", 8.0, "GT/s", {at_least_8}));
  EXPECT_FALSE(step->failed());
  EXPECT_FALSE(step->measure("speed", 2.5, "GT/s", {at_least_8}));
  EXPECT_TRUE(step->failed());
  EXPECT_FALSE(step->measure("speed", 32.0, "GT/s", {at_least_8}));
  step->end();
  const auto run = summary();
  ASSERT_EQ(run.steps[0].measurements.size(), 3u);
  EXPECT_EQ(run.steps[0].measurements[0].measurement.validators.size(), 2u);
  EXPECT_EQ(run.steps[0].state, StepState::fail);
}

TEST_F(RecorderTest, aNumberThatIsNotFiniteIsAnErrorOfTheTest) {
  const auto step = recorder_->begin_step("s", "probe", {});
  EXPECT_FALSE(step->measure("m", std::nan(""), "1"));
  EXPECT_FALSE(step->measure("m", HUGE_VAL, "1"));
  EXPECT_FALSE(step->series("n", "1")->add(-HUGE_VAL));
  step->end();
  EXPECT_EQ(summary().steps[0].state, StepState::error);
  EXPECT_EQ(count("null"), 0u);
}

TEST_F(RecorderTest, seriesAreCountedAndJudgedSampleBySample) {
  const auto step = recorder_->begin_step("s", "probe", {});
  {
    const auto series =
        step->series("t", "Cel", {make_validator(Comparison::less_or_equal, 85.0, "Cel")});
    EXPECT_TRUE(series->add(80.0));
    EXPECT_FALSE(series->add(86.0));
    EXPECT_TRUE(series->add(70.0));
  }
  step->end();
  const auto run = summary();
  const SeriesRecord& series = run.steps[0].series[0];
  EXPECT_EQ(series.count, 3u);
  EXPECT_EQ(series.outside, 1u);
  EXPECT_EQ(series.max, 86.0);
  EXPECT_EQ(series.min, 70.0);
  EXPECT_EQ(run.steps[0].state, StepState::fail);
  EXPECT_EQ(run.damage, "");
}

TEST_F(RecorderTest, findingsGetCausesAndRemediesFromTheCatalog) {
  const auto step = recorder_->begin_step("s", "probe", {});
  step->finding({.code = "NPU_DMA_MAP_ERROR", .kind = FindingKind::observation, .message = "m"});
  EXPECT_FALSE(step->failed());
  step->finding({.code = "PCIE_LINK_DEGRADED", .message = "slow", .likely = {"mine"}});
  EXPECT_TRUE(step->failed());
  step->end();
  const auto run = summary();
  ASSERT_EQ(run.steps[0].findings.size(), 2u);
  EXPECT_EQ(run.steps[0].findings[0].finding.kind, FindingKind::observation);
  EXPECT_FALSE(run.steps[0].findings[0].finding.remedy.empty());
  EXPECT_EQ(run.steps[0].findings[1].finding.likely, std::vector<std::string>{"mine"});
}

TEST_F(RecorderTest, knowsTheStepThatMadeAFindingFirst) {
  EXPECT_FALSE(recorder_->found_by("PCIE_LINK_DEGRADED"));
  const auto first = recorder_->begin_step("link", "probe", {});
  first->finding({.code = "PCIE_LINK_DEGRADED", .message = "slow"});
  first->end();
  const auto second = recorder_->begin_step("log", "probe", {});
  second->finding({.code = "PCIE_LINK_DEGRADED", .message = "slow"});
  second->finding({.code = "NPU_DMA_MAP_ERROR", .kind = FindingKind::observation, .message = "m"});
  EXPECT_EQ(recorder_->found_by("PCIE_LINK_DEGRADED"), "link");
  EXPECT_EQ(second->run().found_by("NPU_DMA_MAP_ERROR"), "log");
  EXPECT_FALSE(recorder_->found_by("PCIE_LINK"));
  second->end();
}

TEST_F(RecorderTest, progressIsWrittenAtMostFourTimesASecond) {
  const auto step = recorder_->begin_step("s", "probe", {});
  const std::int64_t start = monotonic_ns();
  std::uint64_t calls = 0;
  while (monotonic_ns() - start < 600 * ns_per_ms) step->progress(++calls, 0);
  const double seconds = static_cast<double>(monotonic_ns() - start) / 1e9;
  const auto written = count("assay.progress");
  EXPECT_GE(written, 1u);
  EXPECT_LE(static_cast<double>(written), 1 + seconds * 4);
  EXPECT_GT(calls, written);
}

TEST_F(RecorderTest, manyThreadsWriteWholeLinesInOneOrder) {
  const auto step = recorder_->begin_step("s", "probe", {});
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([&] {
        const auto series = step->series("t", "1");
        for (int i = 0; i < 500; ++i) series->add(std::int64_t{i});
      });
    }
  }
  step->end();
  recorder_->run_end({Status::complete, RunResult::pass});
  const auto run = summary();
  EXPECT_EQ(run.damage, "");
  EXPECT_EQ(run.events, 2u + 1 + 4 * 502 + 1 + 1);
  EXPECT_EQ(verdict_of(run, false), Verdict::pass);
}

TEST_F(RecorderTest, aFullDiskIsRememberedAndNothingIsWrittenBehindTheGap) {
  const auto old_handler = signal(SIGXFSZ, SIG_IGN);
  rlimit old_limit{};
  getrlimit(RLIMIT_FSIZE, &old_limit);
  rlimit limit = old_limit;
  limit.rlim_cur = 4096;
  setrlimit(RLIMIT_FSIZE, &limit);
  const auto step = recorder_->begin_step("s", "probe", {});
  for (int i = 0; i < 100; ++i) step->log(Severity::info, std::string(100, 'x'));
  setrlimit(RLIMIT_FSIZE, &old_limit);
  signal(SIGXFSZ, old_handler);
  ASSERT_TRUE(recorder_->write_error());
  EXPECT_NE(recorder_->write_error()->text().find("journal.jsonl"), std::string::npos);
  const auto size = test::read_file(path()).size();
  step->end();
  recorder_->run_end({Status::complete, RunResult::pass});
  EXPECT_EQ(test::read_file(path()).size(), size);
  EXPECT_EQ(verdict_of(summary(), false), Verdict::aborted);
}

}  // namespace
}  // namespace assay::reports
