// The runner's own promises, with probes made for it.
#include "station/run/runner.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>

#include <thread>

#include "reports/summary/run_summary.h"
#include "runtime/device/host_device.h"
#include "tests/base/scratch.h"
#include "tests/support/program.h"

namespace assay::station {
namespace {

using probes::Monitor;
using probes::MonitorContext;
using probes::Probe;
using probes::StepContext;
using reports::StepState;
using reports::Verdict;

// Counts upward; the third sample and those after it are above the limit 2.
class Counter final : public Monitor {
 public:
  explicit Counter(const MonitorContext& context)
      : series_(context.recorder.series("count", "1", context.limits_for("count"))) {}
  Result<> sample() override {
    series_->add(std::int64_t{++count_});
    return {};
  }

 private:
  std::unique_ptr<reports::Series> series_;
  std::int64_t count_ = 0;
};

Result<> wait_until_cancelled(StepContext& context) {
  while (!context.cancelled()) poll(nullptr, 0, 1);
  return fail(ErrorKind::cancelled, "stopped");
}

class RunnerTest : public ::testing::Test {
 protected:
  PlanStep step(std::string id, std::function<Result<>(StepContext&)> run) {
    auto& probe = probes_.emplace_back(std::make_unique<Probe>());
    probe->name = "test." + id;
    probe->run = std::move(run);
    return {.id = std::move(id), .probe = probe.get()};
  }
  PlanMonitor counter(bool stops_step) {
    auto& probe = probes_.emplace_back(std::make_unique<Probe>());
    probe->name = "test.counter";
    probe->monitor = [](const MonitorContext& context) -> Result<std::unique_ptr<Monitor>> {
      return std::make_unique<Counter>(context);
    };
    return {probe.get(),
            50,
            {{"count",
              {reports::make_validator(reports::Comparison::less_or_equal, std::int64_t{2}, "1")}}},
            stops_step};
  }
  reports::RunSummary run(const CancelToken& interrupt) {
    const std::string journal = folder_ / ("journal-" + std::to_string(++runs_) + ".jsonl");
    {
      auto recorder = reports::Recorder::create(journal);
      EXPECT_TRUE(recorder);
      const RunRequest request{plan_, bench_, "sn", "", "", "", {}, false};
      EXPECT_TRUE(run_plan(request, **recorder, interrupt));
    }
    return reports::summarize_journal(journal).value();
  }
  reports::RunSummary run() { return run(never_); }

  test::TemporaryFolder folder_;
  Machine machine_;
  probes::BoardProfile board_;
  runtime::HostDevice npu_;
  probes::RealRam ram_;
  WorkerPool workers_{1};
  probes::Bench bench_{machine_, board_, npu_, ram_, workers_, ""};
  std::vector<std::unique_ptr<Probe>> probes_;
  Plan plan_{.id = "p", .name = "p"};
  CancelToken never_;
  int runs_ = 0;
};

TEST_F(RunnerTest, goesOnAfterAStepThatFailedOrCouldNotTest) {
  plan_.steps.push_back(step("fails", [](StepContext& c) -> Result<> {
    c.recorder.finding({.code = "X", .message = "m"});
    return {};
  }));
  plan_.steps.push_back(step("breaks", [](StepContext&) -> Result<> {
    return fail(ErrorKind::io, "cannot read", "/sys/x");
  }));
  plan_.steps.push_back(step("passes", [](StepContext&) -> Result<> { return {}; }));
  const auto run_summary = run();
  EXPECT_EQ(run_summary.steps[0].state, StepState::fail);
  EXPECT_EQ(run_summary.steps[1].state, StepState::error);
  EXPECT_EQ(run_summary.steps[1].errors[0].message, "/sys/x: cannot read");
  EXPECT_EQ(run_summary.steps[2].state, StepState::pass);
  EXPECT_EQ(verdict_of(run_summary, false), Verdict::fail);
}

TEST_F(RunnerTest, aRepairIsDoneOnlyWhereItsFaultWasFound) {
  int repairs = 0;
  bool faulty = true;
  std::string code = "FIRMWARE_OUTDATED";
  plan_.steps.push_back(step("looks", [&](StepContext& c) -> Result<> {
    if (faulty) c.recorder.finding({.code = code, .message = "m"});
    return {};
  }));
  plan_.steps.push_back(step("repairs", [&](StepContext&) -> Result<> {
    ++repairs;
    return {};
  }));
  plan_.steps[1].repairs = "looks";
  plan_.steps[1].repairs_fault = "FIRMWARE_OUTDATED";
  EXPECT_EQ(verdict_of(run(), false), Verdict::pass);
  EXPECT_EQ(repairs, 1);
  faulty = false;
  auto summary = run();
  EXPECT_EQ(repairs, 1);
  EXPECT_EQ(summary.steps[1].state, StepState::skip);
  EXPECT_EQ(verdict_of(summary, false), Verdict::pass);
  faulty = true;
  code = "UART_GARBLED";
  EXPECT_EQ(verdict_of(run(), false), Verdict::fail);
  EXPECT_EQ(repairs, 1);
}

TEST_F(RunnerTest, aRepairThatFailsLeavesTheRunFailed) {
  plan_.steps.push_back(step("looks", [&](StepContext& c) -> Result<> {
    c.recorder.finding({.code = "FIRMWARE_OUTDATED", .message = "m"});
    return {};
  }));
  plan_.steps.push_back(step(
      "repairs", [&](StepContext&) -> Result<> { return fail(ErrorKind::bad_file, "no image"); }));
  plan_.steps[1].repairs = "looks";
  plan_.steps[1].repairs_fault = "FIRMWARE_OUTDATED";
  EXPECT_EQ(verdict_of(run(), false), Verdict::fail);
}

// It has not seen all that may speak against the repair.
TEST_F(RunnerTest, aStepThatBrokeOffStartsNoRepair) {
  bool repaired = false;
  plan_.steps.push_back(step("looks", [&](StepContext& c) -> Result<> {
    c.recorder.finding({.code = "FIRMWARE_OUTDATED", .message = "m"});
    return fail(ErrorKind::timeout, "no serial number");
  }));
  plan_.steps.push_back(step("repairs", [&](StepContext&) -> Result<> {
    repaired = true;
    return {};
  }));
  plan_.steps[1].repairs = "looks";
  plan_.steps[1].repairs_fault = "FIRMWARE_OUTDATED";
  const auto summary = run();
  EXPECT_FALSE(repaired);
  EXPECT_EQ(summary.steps[1].state, StepState::skip);
  EXPECT_EQ(summary.steps[1].skip_reason, "looks could not be tested to its end");
  EXPECT_NE(verdict_of(summary, false), Verdict::pass);
}

TEST_F(RunnerTest, theWrongBoardIsNotTestedFurther) {
  bool ran = false;
  plan_.steps.push_back(step("looks", [&](StepContext& c) -> Result<> {
    EXPECT_EQ(c.serial, "sn");
    c.recorder.finding({.code = "SERIAL_MISMATCH", .message = "m"});
    return {};
  }));
  plan_.steps.push_back(step("next", [&](StepContext&) -> Result<> {
    ran = true;
    return {};
  }));
  const auto summary = run();
  EXPECT_FALSE(ran);
  EXPECT_EQ(summary.steps[1].state, StepState::pending);
  EXPECT_EQ(verdict_of(summary, false), Verdict::fail);
}

TEST_F(RunnerTest, aStepThatTakesTooLongIsCancelledAndIsNoPass) {
  plan_.steps.push_back(step("slow", wait_until_cancelled));
  plan_.steps[0].timeout_ns = 20'000'000;
  const auto run_summary = run();
  EXPECT_EQ(run_summary.steps[0].state, StepState::error);
  EXPECT_EQ(run_summary.steps[0].errors[0].symptom, "timeout");
  EXPECT_EQ(verdict_of(run_summary, false), Verdict::incomplete);
}

TEST_F(RunnerTest, aProbeThatIgnoresItsTimeoutAndReturnsFineIsNoPassEither) {
  plan_.steps.push_back(step("deaf", [](StepContext& c) -> Result<> {
    (void)wait_until_cancelled(c);
    return {};
  }));
  plan_.steps[0].timeout_ns = 20'000'000;
  EXPECT_EQ(verdict_of(run(), false), Verdict::incomplete);
}

TEST_F(RunnerTest, anInterruptEndsTheStepAndStartsNoOther) {
  CancelToken interrupt;
  plan_.steps.push_back(step("first", [&](StepContext& c) {
    interrupt.cancel();
    return wait_until_cancelled(c);
  }));
  plan_.steps.push_back(step("second", [](StepContext&) -> Result<> { return {}; }));
  const auto run_summary = run(interrupt);
  EXPECT_TRUE(run_summary.ended);
  EXPECT_EQ(run_summary.steps[1].state, StepState::pending);
  EXPECT_EQ(verdict_of(run_summary, false), Verdict::aborted);
}

TEST_F(RunnerTest, aStepWhoseResultsCannotBeKeptIsStopped) {
  plan_.steps.push_back(step("first", [](StepContext& c) -> Result<> {
    while (!c.cancelled()) c.recorder.log(reports::Severity::info, std::string(1000, 'x'));
    return fail(ErrorKind::cancelled, "stopped");
  }));
  bool second = false;
  plan_.steps.push_back(step("second", [&](StepContext&) -> Result<> {
    second = true;
    return {};
  }));
  auto recorder = reports::Recorder::create(folder_ / "journal.jsonl");
  ASSERT_TRUE(recorder);
  const RunRequest request{plan_, bench_, "sn", "", "", "", {}, false};
  // A limit on the file's size stands for the full disk.
  const auto ran =
      test::with_file_size_limit(100'000, [&] { return run_plan(request, **recorder, never_); });
  ASSERT_FALSE(ran);
  EXPECT_EQ(ran.error().kind, ErrorKind::io);
  EXPECT_FALSE(second);
}

TEST_F(RunnerTest, theStartOfTheRunListsMonitorsAndTheirLimits) {
  plan_.monitors.push_back(counter(true));
  plan_.steps.push_back(step("a", [](StepContext&) -> Result<> { return {}; }));
  const auto monitors = run().start.parameters["plan"]["monitors"];
  ASSERT_EQ(monitors.size(), 1U);
  EXPECT_EQ(monitors[0]["use"], "test.counter");
  EXPECT_EQ(monitors[0]["hz"], 50);
  EXPECT_EQ(monitors[0]["stop"], true);
  EXPECT_EQ(monitors[0]["limits"]["count"], nlohmann::json::array({"at most 2"}));
}

TEST_F(RunnerTest, monitorsSampleBesideTheStepAndTheirLimitsFailIt) {
  plan_.monitors.push_back(counter(false));
  plan_.steps.push_back(step("watched", [](StepContext& c) -> Result<> {
    while (!c.recorder.failed()) poll(nullptr, 0, 1);
    return {};
  }));
  plan_.steps.push_back(step("quick", [](StepContext&) -> Result<> { return {}; }));
  const auto run_summary = run();
  ASSERT_EQ(run_summary.steps[0].series.size(), 1u);
  EXPECT_GE(run_summary.steps[0].series[0].count, 3u);
  EXPECT_EQ(run_summary.steps[0].state, StepState::fail);
  // Each step has series of its own; a short one is sampled at its end at least.
  ASSERT_EQ(run_summary.steps[1].series.size(), 1u);
  EXPECT_GE(run_summary.steps[1].series[0].count, 1u);
  EXPECT_EQ(run_summary.damage, "");
}

TEST_F(RunnerTest, aMonitorThatStopsEndsTheStepAsAFailNotAsAnError) {
  plan_.monitors.push_back(counter(true));
  plan_.steps.push_back(step("hot", wait_until_cancelled));
  const auto run_summary = run();
  EXPECT_EQ(run_summary.steps[0].state, StepState::fail);
  EXPECT_TRUE(run_summary.steps[0].errors.empty());
}

TEST_F(RunnerTest, besideAStepThatReadsWhatIsPastNoMonitorRuns) {
  plan_.monitors.push_back(counter(true));
  const auto nothing = [](StepContext&) -> Result<> { return {}; };
  plan_.steps.push_back(step("works", nothing));
  plan_.steps.push_back(step("looks-back", nothing));
  probes_.back()->looks_back = true;
  const auto run_summary = run();
  EXPECT_EQ(run_summary.steps[0].series.size(), 1U);
  EXPECT_EQ(run_summary.steps[1].series.size(), 0U);
  EXPECT_EQ(run_summary.steps[1].state, StepState::pass);
}

TEST_F(RunnerTest, aMonitorThatBreaksMakesTheStepUntested) {
  auto& probe = probes_.emplace_back(std::make_unique<Probe>());
  probe->monitor = [](const MonitorContext&) -> Result<std::unique_ptr<Monitor>> {
    class Broken final : public Monitor {
      Result<> sample() override { return fail(ErrorKind::io, "gone"); }
    };
    return std::make_unique<Broken>();
  };
  plan_.monitors.push_back({probe.get(), 50, {}, false});
  plan_.steps.push_back(step("blind", [](StepContext&) -> Result<> { return {}; }));
  const auto run_summary = run();
  EXPECT_EQ(run_summary.steps[0].state, StepState::error);
  EXPECT_EQ(run_summary.steps[0].errors.size(), 1u);
}

TEST_F(RunnerTest, aMonitorWithNothingToSampleIsLeftOut) {
  auto& probe = probes_.emplace_back(std::make_unique<Probe>());
  probe->monitor = [](const MonitorContext&) -> Result<std::unique_ptr<Monitor>> {
    return fail(ErrorKind::unavailable, "no such sensor");
  };
  plan_.monitors.push_back({probe.get(), 1, {}, false});
  plan_.steps.push_back(step("a", [](StepContext&) -> Result<> { return {}; }));
  EXPECT_EQ(verdict_of(run(), false), Verdict::pass);
}

TEST_F(RunnerTest, aMonitorWithLimitsAndNothingToSampleMakesTheRunIncomplete) {
  plan_.monitors.push_back(counter(false));
  auto& probe = probes_.emplace_back(std::make_unique<Probe>());
  probe->name = "test.absent";
  probe->monitor = [](const MonitorContext&) -> Result<std::unique_ptr<Monitor>> {
    return fail(ErrorKind::unavailable, "no such sensor");
  };
  plan_.monitors[0].probe = probe.get();
  plan_.steps.push_back(step("a", [](StepContext&) -> Result<> { return {}; }));
  const auto run_summary = run();
  EXPECT_EQ(verdict_of(run_summary, false), Verdict::incomplete);
  ASSERT_EQ(run_summary.errors.size(), 1u);
  EXPECT_EQ(run_summary.errors[0].symptom, "not-observed");
}

TEST_F(RunnerTest, aLimitThatNothingWasHeldAgainstIsNoPass) {
  plan_.steps.push_back(step("a", [](StepContext& c) -> Result<> {
    c.recorder.measure("taken", std::int64_t{0}, "1");
    return {};
  }));
  const auto zero = reports::make_validator(reports::Comparison::equal, std::int64_t{0}, "1");
  plan_.steps[0].limits = {{"taken", {zero}}, {"never", {zero}}};
  const auto run_summary = run();
  EXPECT_EQ(run_summary.steps[0].state, StepState::error);
  ASSERT_EQ(run_summary.steps[0].errors.size(), 1u);
  EXPECT_EQ(run_summary.steps[0].errors[0].symptom, "unmeasured");
  EXPECT_EQ(verdict_of(run_summary, false), Verdict::incomplete);
}

TEST_F(RunnerTest, skippedMakesTheRunIncompleteUnlessTheStepIsOptional) {
  plan_.steps.push_back(step("a", [](StepContext& c) -> Result<> {
    c.recorder.skip("not here");
    return {};
  }));
  plan_.steps.push_back(step("b", [](StepContext&) -> Result<> { return {}; }));
  plan_.steps[0].required = false;
  EXPECT_EQ(verdict_of(run(), false), Verdict::pass);
}

}  // namespace
}  // namespace assay::station
