// The factory plan, made small, on the virtual board: healthy, and with each fault.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "tests/end_to_end/run_files.h"
#include "tests/support/program.h"

namespace assay::test {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAreArray;

TEST(VirtualBoard, healthyOnePassesAndLeavesJournalAndReport) {
  const TemporaryFolder out;
  const Finished run = assay({"run", "--virtual", "--board", "m6-mini", "--plan", "quick",
                              "--headless", "--operator", "0231", "--out", out.path()});
  ASSERT_EQ(run.exit_code, 0) << run.out << run.err;
  // The verdict is the last line.
  const std::string last = run.out.substr(run.out.rfind('\n', run.out.size() - 2) + 1);
  EXPECT_TRUE(last.starts_with("PASS")) << last;

  const auto folder = run_folder(out.path());
  EXPECT_TRUE(folder.filename().string().starts_with("M6-2026-004417-"));
  const auto report = read_json(folder / "report.json");
  EXPECT_EQ(report["verdict"], "PASS");
  EXPECT_EQ(report["operator"], "0231");
  EXPECT_EQ(report["plan"]["reduced_from"], "fat");
  EXPECT_THAT(codes(report["findings"]), IsEmpty());
  for (const auto& step : report["steps"]) {
    const bool repair = step["id"] == "firmware.update";
    EXPECT_EQ(step["verdict"], repair ? "SKIP" : "PASS") << step["id"];
  }
  EXPECT_EQ(named(step_of(report, "firmware.query")["measurements"], "version")["value"], "2.3.1");

  // The story of the board: 27B asks for one mapping, is refused, and loads after the pool was
  // flushed and defragmented; the MoE model never had the trouble.
  EXPECT_THAT(codes(report["observations"]), Contains("NPU_DMA_MAP_ERROR"));
  for (const auto& o : report["observations"]) {
    if (o["code"] != "NPU_DMA_MAP_ERROR") continue;
    EXPECT_EQ(o["step"], "workload.dense");
    EXPECT_THAT(o["evidence"][0].get<std::string>(),
                ::testing::MatchesRegex("npu_dma_map_error: cannot map 213[0-9]+ bytes"));
    EXPECT_FALSE(o["likely"].empty());
    EXPECT_FALSE(o["remedy"].empty());
  }
  const auto dense = step_of(report, "workload.dense");
  EXPECT_GT(named(dense["measurements"], "pool_largest_free_block")["value"],
            named(dense["measurements"], "mapped_bytes")["value"]);
  EXPECT_GT(named(dense["measurements"], "mapped_bytes")["value"], 21'200'000'000);

  // Observed while it ran.
  for (const char* id : {"workload.moe", "workload.dense"}) {
    for (const char* name :
         {"temperature", "frequency", "largest_free_block", "corrected_errors"}) {
      EXPECT_GE(named(step_of(report, id)["series"], name)["samples"], 2) << id << " " << name;
    }
  }
  EXPECT_FALSE(named(step_of(report, "workload.moe")["measurements"], "experts_used").is_null());

  // The report is a function of the journal and of nothing else.
  const Finished again = assay({"report", folder / "journal.jsonl", "--format", "json"});
  EXPECT_EQ(again.exit_code, 0);
  EXPECT_EQ(again.out, read_file(folder / "report.json"));

  const Finished valid =
      Program({"/usr/bin/python3", ASSAY_SOURCE "/tests/end_to_end/validate_journal.py",
               ASSAY_SOURCE "/reports/schema/ocp", folder / "journal.jsonl"})
          .wait();
  EXPECT_EQ(valid.exit_code, 0) << valid.out << valid.err;
}

struct FaultCase {
  const char* fault;
  std::vector<std::string> failed_steps;
  std::vector<std::string> codes;
  // A second step in which the same may show, by how fast this machine is.
  std::string perhaps_too = "";
  bool needs_workloads = false;
};

// The plan "quick" without its workloads, which take most of its time and tell nothing of a fault
// that an earlier step finds.
std::string plan_without_workloads(const std::filesystem::path& folder) {
  auto plan = read_json(ASSAY_SOURCE "/boards/plans/quick.json");
  auto& steps = plan["steps"];
  for (std::size_t i = steps.size(); i-- > 0;) {
    if (steps[i]["use"] == "workload.generate") steps.erase(i);
  }
  const std::filesystem::path file = folder / "plan.json";
  std::ofstream(file) << plan;
  return file;
}

void PrintTo(const FaultCase& c, std::ostream* out) {
  *out << c.fault;
}

class Fault : public ::testing::TestWithParam<FaultCase> {};

TEST_P(Fault, failsTheRightStepWithItsFindingAndNoOther) {
  const FaultCase& expected = GetParam();
  const TemporaryFolder files;
  const TemporaryFolder out;
  const std::string plan =
      expected.needs_workloads ? "quick" : plan_without_workloads(files.path());
  const Finished run = assay({"run", "--virtual", "--plan", plan, "--headless", "--fault",
                              expected.fault, "--out", out.path()});
  ASSERT_EQ(run.exit_code, 1) << run.out << run.err;
  const auto folder = run_folder(out.path());
  const auto report = read_json(folder / "report.json");
  EXPECT_EQ(report["verdict"], "FAIL");
  EXPECT_THAT(report["virtual"]["faults"], ElementsAre(expected.fault));
  std::vector<std::string> failed;
  for (const auto& step : report["steps"]) {
    if (step["id"] == "firmware.update") {
      EXPECT_EQ(step["verdict"], "SKIP");
    } else if (step["verdict"] != "PASS" && step["id"] != expected.perhaps_too) {
      failed.push_back(step["id"]);
    }
  }
  EXPECT_EQ(failed, expected.failed_steps);
  std::vector<std::string> found;
  for (const auto& finding : report["findings"]) {
    if (finding["step"] != expected.perhaps_too) found.push_back(finding["code"]);
    EXPECT_THAT(expected.codes, Contains(finding["code"].get<std::string>()));
  }
  EXPECT_EQ(found, expected.codes);
  for (const auto& finding : report["findings"]) {
    EXPECT_FALSE(finding["message"].get<std::string>().empty());
    EXPECT_FALSE(finding["evidence"].empty());
    EXPECT_FALSE(finding["likely"].empty());
    EXPECT_FALSE(finding["remedy"].empty());
  }
  const Finished valid =
      Program({"/usr/bin/python3", ASSAY_SOURCE "/tests/end_to_end/validate_journal.py",
               ASSAY_SOURCE "/reports/schema/ocp", folder / "journal.jsonl"})
          .wait();
  EXPECT_EQ(valid.exit_code, 0) << valid.out << valid.err;
}

INSTANTIATE_TEST_SUITE_P(
    VirtualBoard, Fault,
    ::testing::Values(
        FaultCase{"fw-silent", {"firmware.query"}, {"UART_NO_ANSWER"}},
        FaultCase{"fw-garbage", {"firmware.query"}, {"UART_GARBLED"}},
        FaultCase{"mem-stuck", {"memory.pattern"}, {"MEM_CORRUPTION_ERR"}},
        FaultCase{"mem-coupling", {"memory.pattern"}, {"MEM_CORRUPTION_ERR"}},
        FaultCase{"mem-half", {"memory.pattern"}, {"MEM_SIZE"}},
        FaultCase{"pcie-x1", {"pcie.link"}, {"PCIE_LINK_DEGRADED"}, "", true},
        FaultCase{"pcie-gen1", {"pcie.link"}, {"PCIE_LINK_DEGRADED"}},
        FaultCase{"thermal-gap", {"workload.dense"}, {"THERMAL_THROTTLE"}, "workload.moe", true},
        FaultCase{"thermal-drift", {"thermal.read"}, {"THERMAL_SENSOR_DRIFT"}},
        FaultCase{"fragmented", {"workload.dense"}, {"NPU_POOL_FRAGMENTED"}, "", true}),
    [](const auto& instance) {
      std::string name = instance.param.fault;
      for (char& c : name) c = c == '-' ? '_' : c;
      return name;
    });

// Found, and put right by the plan's update step; then the 27B model loads, which it cannot with
// old firmware: that has no large-page mapping.
class Repaired : public ::testing::TestWithParam<const char*> {};

TEST_P(Repaired, oldFirmwareIsFoundUpdatedAndTheRunPasses) {
  const TemporaryFolder out;
  const Finished run = assay({"run", "--virtual", "--plan", "quick", "--headless", "--fault",
                              GetParam(), "--out", out.path()});
  ASSERT_EQ(run.exit_code, 0) << run.out << run.err;
  EXPECT_THAT(run.out, HasSubstr("firmware.query was put right by firmware.update"));
  const auto folder = run_folder(out.path());
  const auto report = read_json(folder / "report.json");
  EXPECT_EQ(report["verdict"], "PASS");
  EXPECT_THAT(codes(report["findings"]), ElementsAre("FIRMWARE_OUTDATED"));
  EXPECT_EQ(report["findings"][0]["repaired_by"], "firmware.update");
  EXPECT_EQ(step_of(report, "firmware.query")["verdict"], "FAIL");
  const auto update = step_of(report, "firmware.update");
  EXPECT_EQ(update["verdict"], "PASS");
  EXPECT_EQ(named(update["measurements"], "version_before")["value"], "2.1.4-rc3");
  EXPECT_EQ(named(update["measurements"], "version")["value"], "2.3.1");
  EXPECT_EQ(named(update["measurements"], "interruptions")["value"],
            std::string(GetParam()) == "power-cut" ? 1 : 0);
  EXPECT_EQ(step_of(report, "workload.dense")["verdict"], "PASS");
  const Finished valid =
      Program({"/usr/bin/python3", ASSAY_SOURCE "/tests/end_to_end/validate_journal.py",
               ASSAY_SOURCE "/reports/schema/ocp", folder / "journal.jsonl"})
          .wait();
  EXPECT_EQ(valid.exit_code, 0) << valid.out << valid.err;
}

INSTANTIATE_TEST_SUITE_P(VirtualBoard, Repaired, ::testing::Values("fw-old", "power-cut"),
                         [](const auto& instance) {
                           return std::string(instance.param) == "fw-old" ? "fw_old" : "power_cut";
                         });

TEST(VirtualBoard, oldFirmwareCannotLoadADenseModel) {
  const TemporaryFolder out;
  const Finished run =
      assay({"workload", "--virtual", "--fault", "fw-old", "--model", "dense-27b", "--precision",
             "mixed-fp8", "--layers", "1", "--tokens", "4", "--json", "--out", out.path()});
  EXPECT_EQ(run.exit_code, 1) << run.out << run.err;
  EXPECT_THAT(codes(read_json(out / "report.json")["findings"]),
              ElementsAre("NPU_POOL_FRAGMENTED"));
}

TEST(VirtualBoard, anotherBoardThanTheOneScannedIsNotTestedFurther) {
  const TemporaryFolder out;
  const Finished run = assay({"run", "--virtual", "--headless", "--fault", "serial-mismatch",
                              "--serial", "M6-2026-000123", "--out", out.path()});
  EXPECT_EQ(run.exit_code, 1) << run.out << run.err;
  const auto report = read_json(run_folder(out.path()) / "report.json");
  EXPECT_EQ(report["verdict"], "FAIL");
  EXPECT_THAT(codes(report["findings"]), ElementsAre("SERIAL_MISMATCH"));
  EXPECT_THAT(report["findings"][0]["message"].get<std::string>(),
              HasSubstr("M6-2026-000124; M6-2026-000123 was scanned"));
  for (const auto& step : report["steps"]) {
    EXPECT_EQ(step["verdict"], step["id"] == "firmware.query" ? "FAIL" : "PENDING") << step["id"];
  }
}

TEST(VirtualBoard, stuckBitIsRecordedWithAddressExpectedActualAndMask) {
  const TemporaryFolder out;
  const Finished run =
      assay({"mem", "--virtual", "--fault", "mem-stuck", "--pattern", "0x55555555", "--pattern",
             "0xAAAAAAAA", "--size", "64MiB", "--iter", "2", "--out", out.path()});
  EXPECT_EQ(run.exit_code, 1) << run.out << run.err;
  int mismatches = 0;
  for (const auto& event : read_journal(out / "journal.jsonl")) {
    if (!event.contains("testStepArtifact")) continue;
    const auto& artifact = event["testStepArtifact"];
    if (!artifact.contains("extension") ||
        artifact["extension"]["name"] != "assay.memory.mismatch") {
      continue;
    }
    ++mismatches;
    const auto& m = artifact["extension"]["content"];
    const auto hex = [&](const char* key) {
      return std::stoull(m[key].get<std::string>(), nullptr, 16);
    };
    EXPECT_EQ(hex("mask"), std::uint64_t{0x04} << 24);
    EXPECT_EQ(hex("expected") ^ hex("actual"), hex("mask"));
    // The bit is stuck at 1: only the pattern that writes a 0 there sees it.
    EXPECT_EQ(hex("expected"), 0xAAAAAAAAAAAAAAAA);
    EXPECT_EQ(m["offset"], (64 << 20) / 8 * 5 + 7 * 64);
    EXPECT_GT(hex("address"), 0);
  }
  EXPECT_EQ(mismatches, 2);
  const auto report = read_json(out / "report.json");
  EXPECT_THAT(report["findings"][0]["message"].get<std::string>(),
              HasSubstr("one bit (bit 26) that fails each time: stuck"));
}

TEST(VirtualBoard, coupledBitIsLocatedAndTellsItselfFromAStuckOne) {
  const TemporaryFolder out;
  const Finished run = assay({"mem", "--virtual", "--fault", "mem-coupling", "--tests", "march-c-",
                              "--size", "64MiB", "--out", out.path()});
  EXPECT_EQ(run.exit_code, 1) << run.out << run.err;
  const auto report = read_json(out / "report.json");
  EXPECT_THAT(report["findings"][0]["message"].get<std::string>(), HasSubstr("at 1 address of"));
  EXPECT_THAT(
      report["findings"][0]["message"].get<std::string>(),
      testing::ContainsRegex(
          "one bit .bit 2. that failed in [0-9]+ passes and in none of 16 tries alone: coupling"));
}

TEST(VirtualBoard, twoFaultsOfTheMemoryAreBothFound) {
  const TemporaryFolder out;
  const Finished run = assay({"mem", "--virtual", "--fault", "mem-coupling", "--fault", "mem-stuck",
                              "--tests", "march-c-", "--size", "64MiB", "--out", out.path()});
  EXPECT_EQ(run.exit_code, 1) << run.out << run.err;
  const auto report = read_json(out / "report.json");
  const std::string message = report["findings"][0]["message"];
  EXPECT_THAT(message, HasSubstr("separate faults: "));
  EXPECT_THAT(message, HasSubstr("one bit (bit 26) that fails each time: stuck"));
  EXPECT_THAT(
      message,
      testing::ContainsRegex(
          "one bit .bit 2. that failed in [0-9]+ passes and in none of 16 tries alone: coupling"));
}

TEST(VirtualBoard, theNamePeopleKnowIsTheMemoryTest) {
  const std::string known = std::filesystem::path(assay_argv({})[0]).parent_path() / "npu_mem_test";
  const Finished run = Program({known, "--pattern=0xAAAAAAAA", "--size=64M", "--iter=3"}).wait();
  EXPECT_EQ(run.exit_code, 0) << run.out << run.err;
  EXPECT_THAT(run.out, HasSubstr("with one fixed pattern half of all stuck bits"));
  EXPECT_EQ(Program({known, "--pattern=AAAA"}).wait().exit_code, 2);
}

}  // namespace
}  // namespace assay::test
