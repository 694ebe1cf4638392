#include "reports/json/report.h"

#include <gtest/gtest.h>

#include "reports/findings/finding.h"
#include "reports/record/recorder.h"
#include "tests/support/program.h"

namespace assay::reports {
namespace {

TEST(Report, sameJournalSameBytesAndNothingThatIsNoJson) {
  const test::TemporaryFolder folder;
  const std::string path = folder / "journal.jsonl";
  {
    auto recorder = Recorder::create(path);
    ASSERT_TRUE(recorder);
    RunStart start{.name = "t", .version = "0", .command_line = "\xff\"\\"};
    start.dut_info = {{"dutInfoId", "sn \"quoted\"\n\xE2\x9C\x94"}};
    (*recorder)->run_start(std::move(start));
    const auto step = (*recorder)->begin_step("s", "probe", {});
    step->measure("m", 0.1, "1");
    step->measure("large", INT64_MAX, "By", {}, "part\x01");
    step->finding(
        {.code = "PCIE_LINK_DEGRADED", .message = "slow\xc3", .evidence = {"LnkSta\xf0 0x1011"}});
    step->end();
    (*recorder)->run_end({Status::complete, RunResult::fail});
  }
  const auto run = summarize_journal(path);
  ASSERT_TRUE(run);
  const std::string text = report_json(*run);
  EXPECT_EQ(text, report_json(*summarize_journal(path)));
  const auto json = nlohmann::json::parse(text);
  EXPECT_EQ(json["verdict"], "FAIL");
  EXPECT_EQ(json["serial"], "sn \"quoted\"\n\xE2\x9C\x94");
  EXPECT_EQ(json["steps"][0]["measurements"][0]["value"], 0.1);
  EXPECT_EQ(json["steps"][0]["measurements"][1]["value"], INT64_MAX);
  EXPECT_EQ(json["findings"][0]["code"], "PCIE_LINK_DEGRADED");
  // Findings stand before the steps: what a person looks for first.
  EXPECT_LT(text.find("\"findings\""), text.find("\"steps\""));
}

TEST(Findings, everyEntryHasCausesRemediesAndACodeOfItsOwn) {
  for (const auto& entry : finding_catalog()) {
    EXPECT_FALSE(entry.title.empty()) << entry.code;
    EXPECT_FALSE(entry.likely.empty()) << entry.code;
    EXPECT_FALSE(entry.remedy.empty()) << entry.code;
    EXPECT_EQ(find_catalog_entry(entry.code), &entry) << entry.code;
  }
}

}  // namespace
}  // namespace assay::reports
