#include "probes/log/log_diagnose.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "probes/catalog.h"
#include "tests/base/scratch.h"
#include "tests/probes/bench_fixture.h"

namespace assay::probes {
namespace {

using testing::HasSubstr;
using testing::SizeIs;

TEST(LogDiagnose, reportsTheFindingsOfTheBoardsLog) {
  test::BenchFixture bench;
  bench.write(
      "/dev/kmsg",
      "6,1,10,-;Booting Linux version 6.1.0-m6 (aarch64)\n"
      "3,2,88123456,-;nvme nvme0: I/O 14 QID 2 timeout, aborting\n"
      " SUBSYSTEM=pci\n"
      "3,3,89123456,-;nvme nvme0: I/O 15 QID 2 timeout, aborting\n"
      "4,4,99000000,-;cma: cma_alloc: linux,cma: alloc failed, req-size: 8 pages, ret: -12\n");
  const test::Outcome outcome = bench.run(log_diagnose_probe());
  ASSERT_TRUE(outcome.result);
  ASSERT_THAT(outcome.step.findings, SizeIs(2));
  const reports::Finding* timeout = outcome.finding("NVME_TIMEOUT");
  ASSERT_NE(timeout, nullptr);
  EXPECT_EQ(timeout->kind, reports::FindingKind::fault);
  EXPECT_THAT(timeout->message, HasSubstr("Seen 2 times, first at 88.123456 s after the start"));
  EXPECT_THAT(timeout->evidence.front(), HasSubstr("line 2: 3,2,88123456,-;nvme nvme0"));
  EXPECT_EQ(outcome.finding("CMA_ALLOC_FAILED")->kind, reports::FindingKind::observation);
  EXPECT_EQ(outcome.number("log_lines"), 5);
  EXPECT_EQ(outcome.number("log_findings"), 2);
  EXPECT_EQ(outcome.step.headline, "2 findings");
  EXPECT_EQ(outcome.step.state, reports::StepState::fail);
}

// A fault is told once: what a step before it found is only told to have left its traces.
TEST(LogDiagnose, pointsAtTheStepThatFoundAFaultBefore) {
  test::BenchFixture fixture;
  fixture.write("/dev/kmsg",
                "3,2,88123456,-;nvme nvme0: I/O 14 QID 2 timeout, aborting\n"
                "4,4,99000000,-;cma: cma_alloc: linux,cma: alloc failed, req-size: 8 pages, ret: "
                "-12\n");
  const test::Scratch folder;
  const auto recorder = reports::Recorder::create(folder / "journal.jsonl");
  ASSERT_TRUE(recorder);
  const auto earlier = (*recorder)->begin_step("drive", "drive.stress", {});
  earlier->finding({.code = "NVME_TIMEOUT", .message = "It took 30 s."});
  earlier->end();
  const auto step = (*recorder)->begin_step("log", "log.diagnose", {});
  const Bench bench = fixture.bench();
  StepContext context{bench, fixture.parameters, *step, fixture.cancel};
  ASSERT_TRUE(log_diagnose_probe().run(context));
  step->end();
  EXPECT_FALSE(step->failed());
  const std::string journal = folder.content("journal.jsonl");
  EXPECT_THAT(journal, HasSubstr("(found by drive)"));
  EXPECT_THAT(journal, HasSubstr("\"verdict\":\"CMA_ALLOC_FAILED\""));
  // The earlier step's is the only one.
  EXPECT_EQ(journal.find("\"verdict\":\"NVME_TIMEOUT\""),
            journal.rfind("\"verdict\":\"NVME_TIMEOUT\""));
}

TEST(LogDiagnose, aQuietLogPasses) {
  test::BenchFixture bench;
  bench.write("/dev/kmsg", "6,1,10,-;Booting\n6,2,20,-;nvme nvme0: 8/0/0 queues\n");
  const test::Outcome outcome = bench.run(log_diagnose_probe());
  ASSERT_TRUE(outcome.result);
  EXPECT_EQ(outcome.step.state, reports::StepState::pass);
  EXPECT_EQ(outcome.step.headline, "nothing found");
}

// What cannot be read is no sound log.
TEST(LogDiagnose, aLogThatCannotBeReadIsNotTested) {
  test::BenchFixture bench;
  EXPECT_FALSE(bench.run(log_diagnose_probe()).result);
  std::filesystem::create_directories(bench.root() / "dev/kmsg");
  EXPECT_FALSE(bench.run(log_diagnose_probe()).result);
}

TEST(LogDiagnose, isInTheCatalog) {
  EXPECT_NE(find_probe("log.diagnose"), nullptr);
}

}  // namespace
}  // namespace assay::probes
