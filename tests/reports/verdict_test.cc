// What a journal's events come to. The rule above all: nothing but a whole, sound run with every
// required step done within its limits is a PASS.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "reports/summary/run_summary.h"

namespace assay::reports {
namespace {

class Journal {
 public:
  Journal() { add(std::nullopt, SchemaVersion{}); }
  Journal& start(std::vector<std::pair<std::string, bool>> steps) {
    RunStart start{.name = "t", .version = "0", .command_line = ""};
    start.dut_info = {{"dutInfoId", "sn"}};
    for (const auto& [id, required] : steps) {
      start.parameters["plan"]["steps"].push_back(
          {{"id", id}, {"use", "u"}, {"required", required}});
    }
    return add(std::nullopt, start);
  }
  Journal& step(const std::string& id, std::vector<Payload> events,
                Status status = Status::complete) {
    add(id, StepStart{"u"});
    for (auto& e : events) add(id, std::move(e));
    return add(id, StepEnd{status});
  }
  Journal& end(RunResult result, Status status = Status::complete) {
    return add(std::nullopt, RunEnd{status, result});
  }
  Journal& add(std::optional<std::string> id, Payload payload) {
    lines_.push_back(
        to_line({lines_.size(), 1'796'000'000'000'000'000, std::move(id), std::move(payload)}));
    return *this;
  }
  const std::vector<std::string>& lines() const { return lines_; }

 private:
  std::vector<std::string> lines_;
};

RunSummary fold(const std::vector<std::string>& lines) {
  RunFold fold;
  for (std::size_t i = 0; i < lines.size(); ++i) fold.apply(parse_line(lines[i]), i + 1);
  return fold.summary();
}
Verdict verdict(const Journal& journal) {
  return verdict_of(fold(journal.lines()), false);
}

const auto limit = make_validator(Comparison::less_or_equal, 85.0, "Cel");
Payload inside() {
  return Measurement{"t", 80.0, "Cel", {limit}, ""};
}
Payload outside() {
  return Measurement{"t", 90.0, "Cel", {limit}, ""};
}

Journal healthy() {
  return Journal()
      .start({{"a", true}, {"b", true}})
      .step("a", {inside(), Log{Severity::info, "x"}})
      .step("b", {SeriesStart{"s", "Cel", "b/0", {limit}}, SeriesElement{"b/0", 0, 70.0, 1},
                  SeriesElement{"b/0", 1, 71.0, 2}, SeriesEnd{"b/0", 2}})
      .end(RunResult::pass);
}

TEST(Verdict, aWholeRunWithinLimitsPasses) {
  EXPECT_EQ(verdict(healthy()), Verdict::pass);
  EXPECT_EQ(exit_code(Verdict::pass), 0);
}

TEST(Verdict, aFaultOfAnyKindFails) {
  const std::vector<std::vector<Payload>> faults = {
      {outside()},
      {SeriesStart{"s", "Cel", "b/0", {limit}}, SeriesElement{"b/0", 0, 90.0, 1},
       SeriesEnd{"b/0", 1}},
      {Diagnosis{"PCIE_LINK_DEGRADED", DiagnosisType::fail, "slow"}}};
  for (const auto& fault : faults) {
    // Whatever the run's end says of itself, and also in a step that need not pass.
    for (const RunResult result : {RunResult::fail, RunResult::pass, RunResult::not_applicable}) {
      for (const bool required : {true, false}) {
        EXPECT_EQ(verdict(Journal().start({{"a", required}}).step("a", fault).end(result)),
                  Verdict::fail);
      }
    }
  }
  EXPECT_EQ(verdict(Journal().start({{"a", true}}).step("a", {}).end(RunResult::fail)),
            Verdict::fail);
  EXPECT_EQ(exit_code(Verdict::fail), 1);
}

// A step that was outside its limit with a fault, and one behind it that is to put that right.
Journal repaired(std::vector<Payload> found, std::vector<Payload> repair,
                 Status status = Status::complete) {
  Journal journal;
  RunStart start{.name = "t", .version = "0", .command_line = ""};
  start.dut_info = {{"dutInfoId", "sn"}};
  start.parameters["plan"]["steps"] = {
      {{"id", "a"}, {"use", "u"}},
      {{"id", "r"}, {"use", "u"}, {"repairs", {{"step", "a"}, {"finding", "HOT"}}}}};
  journal.add(std::nullopt, start);
  journal.step("a", std::move(found)).step("r", std::move(repair), status).end(RunResult::pass);
  return journal;
}

TEST(Verdict, whatWasPutRightAndMeasuredAgainPasses) {
  const Diagnosis hot{"HOT", DiagnosisType::fail, "hot"};
  const auto journal = repaired({outside(), hot}, {inside()});
  EXPECT_EQ(verdict(journal), Verdict::pass);
  EXPECT_EQ(verdict_reason(fold(journal.lines()), false),
            "every step passed; a was put right by r");
}

TEST(Verdict, aRepairThatIsNotOneStaysAFail) {
  const Diagnosis hot{"HOT", DiagnosisType::fail, "hot"};
  const Diagnosis other{"OTHER", DiagnosisType::fail, "other"};
  // Not measured again; outside still; another fault beside it; a sample outside its limit; the
  // repair failed, broke, or was left out.
  EXPECT_EQ(verdict(repaired({outside(), hot}, {})), Verdict::fail);
  EXPECT_EQ(verdict(repaired({outside(), hot}, {outside()})), Verdict::fail);
  EXPECT_EQ(verdict(repaired({outside(), hot, other}, {inside()})), Verdict::fail);
  EXPECT_EQ(verdict(repaired({SeriesStart{"s", "Cel", "a/0", {limit}},
                              SeriesElement{"a/0", 0, 90.0, 1}, SeriesEnd{"a/0", 1}, hot},
                             {inside()})),
            Verdict::fail);
  EXPECT_EQ(verdict(repaired({outside(), hot}, {inside(), other})), Verdict::fail);
  EXPECT_EQ(verdict(repaired({outside(), hot}, {inside()}, Status::error)), Verdict::fail);
  EXPECT_EQ(verdict(repaired({outside(), hot}, {inside()}, Status::skip)), Verdict::fail);
  EXPECT_EQ(verdict(repaired({outside(), hot, TestError{"io", "m"}}, {inside()})), Verdict::fail);
  // Its value within limits of its own does not do: those of the failed step count.
  const auto loose = make_validator(Comparison::less_or_equal, 95.0, "Cel");
  EXPECT_EQ(verdict(repaired({outside(), hot}, {Measurement{"t", 90.0, "Cel", {loose}, ""}})),
            Verdict::fail);
}

TEST(Verdict, aRepairThatWasNotNeededIsNothingLeftOut) {
  const auto journal = repaired({inside()}, {}, Status::skip);
  EXPECT_EQ(verdict(journal), Verdict::pass);
  EXPECT_EQ(verdict_reason(fold(journal.lines()), false), "every step passed; r was not needed");
  EXPECT_EQ(verdict(repaired({inside()}, {}, Status::error)), Verdict::incomplete);
}

TEST(Verdict, anObservationIsNoFault) {
  EXPECT_EQ(verdict(Journal()
                        .start({{"a", true}})
                        .step("a", {Diagnosis{"NPU_DMA_MAP_ERROR", DiagnosisType::unknown, "m"}})
                        .end(RunResult::pass)),
            Verdict::pass);
}

TEST(Verdict, whatCouldNotBeTestedIsIncomplete) {
  const auto one = [](std::vector<Payload> events, Status status, RunResult result, bool required) {
    return verdict(
        Journal().start({{"a", required}}).step("a", std::move(events), status).end(result));
  };
  EXPECT_EQ(one({TestError{"io", "x"}}, Status::error, RunResult::pass, true), Verdict::incomplete);
  EXPECT_EQ(one({TestError{"io", "x"}}, Status::error, RunResult::pass, false),
            Verdict::incomplete);
  EXPECT_EQ(one({}, Status::error, RunResult::pass, true), Verdict::incomplete);
  EXPECT_EQ(one({}, Status::skip, RunResult::pass, true), Verdict::incomplete);
  EXPECT_EQ(one({}, Status::skip, RunResult::pass, false), Verdict::pass);
  EXPECT_EQ(one({}, Status::complete, RunResult::not_applicable, true), Verdict::incomplete);
  // A planned step that never came, a plan without steps.
  EXPECT_EQ(verdict(Journal().start({{"a", true}, {"b", true}}).step("a", {}).end(RunResult::pass)),
            Verdict::incomplete);
  EXPECT_EQ(verdict(Journal().start({}).end(RunResult::pass)), Verdict::incomplete);
  // A fault that was seen before the test broke stays a fault.
  EXPECT_EQ(one({outside(), TestError{"io", "x"}}, Status::error, RunResult::fail, true),
            Verdict::fail);
  EXPECT_EQ(exit_code(Verdict::incomplete), 3);
}

TEST(Verdict, interruptedIsAbortedWhateverElseHappened) {
  EXPECT_EQ(verdict(Journal()
                        .start({{"a", true}})
                        .step("a", {})
                        .add(std::nullopt, TestError{"interrupted", "SIGINT"})
                        .end(RunResult::pass)),
            Verdict::aborted);
  EXPECT_EQ(exit_code(Verdict::aborted), 130);
}

TEST(Verdict, cutBehindAnyLineIsAbortedOrRunningWhileItGrows) {
  const auto lines = healthy().lines();
  for (std::size_t kept = 0; kept < lines.size(); ++kept) {
    const auto run = fold({lines.begin(), lines.begin() + static_cast<std::ptrdiff_t>(kept)});
    EXPECT_EQ(verdict_of(run, false), Verdict::aborted) << kept;
    EXPECT_EQ(verdict_of(run, true), Verdict::running) << kept;
  }
}

TEST(Verdict, aLineRemovedDoubledSwappedOrChangedNeverPasses) {
  const auto lines = healthy().lines();
  for (std::size_t i = 0; i < lines.size(); ++i) {
    auto removed = lines;
    removed.erase(removed.begin() + static_cast<std::ptrdiff_t>(i));
    EXPECT_NE(verdict_of(fold(removed), false), Verdict::pass) << i;
    auto doubled = lines;
    doubled.insert(doubled.begin() + static_cast<std::ptrdiff_t>(i), lines[i]);
    EXPECT_NE(verdict_of(fold(doubled), false), Verdict::pass) << i;
    auto garbled = lines;
    garbled[i].resize(garbled[i].size() / 2);
    EXPECT_NE(verdict_of(fold(garbled), false), Verdict::pass) << i;
    for (std::size_t j = i + 1; j < lines.size(); ++j) {
      auto swapped = lines;
      std::swap(swapped[i], swapped[j]);
      EXPECT_NE(verdict_of(fold(swapped), false), Verdict::pass) << i << " " << j;
    }
  }
}

TEST(Verdict, eventsBehindTheEndAreDamage) {
  auto journal = healthy();
  journal.add(std::nullopt, Log{Severity::info, "late"});
  EXPECT_EQ(verdict(journal), Verdict::incomplete);
}

TEST(Verdict, theReasonNamesStepAndCause) {
  const auto reason = [](const Journal& j) { return verdict_reason(fold(j.lines()), false); };
  EXPECT_EQ(reason(Journal().start({{"a", true}}).step("a", {outside()}).end(RunResult::fail)),
            "a: t is outside its limits");
  EXPECT_EQ(reason(Journal()
                       .start({{"a", true}})
                       .step("a", {Diagnosis{"X", DiagnosisType::fail, "m"}})
                       .end(RunResult::fail)),
            "a: X");
  EXPECT_EQ(reason(Journal()
                       .start({{"a", true}})
                       .step("a", {Extension{"assay.skip", {{"reason", "no UART"}}}}, Status::skip)
                       .end(RunResult::not_applicable)),
            "a was skipped: no UART");
}

TEST(Verdict, aPassSaysWhatItDoesNotCover) {
  const auto reason = [](const Journal& j) {
    const RunSummary run = fold(j.lines());
    EXPECT_EQ(verdict_of(run, false), Verdict::pass);
    return verdict_reason(run, false);
  };
  EXPECT_EQ(reason(healthy()), "every step passed");
  EXPECT_EQ(reason(Journal()
                       .start({{"a", true}, {"b", false}, {"c", false}})
                       .step("a", {inside()})
                       .step("b", {}, Status::skip)
                       .end(RunResult::pass)),
            "every required step passed; not tested: b, c");
}

TEST(Verdict, aReasonIsOneLineThatNoTerminalObeys) {
  const std::string hostile = "\x1b]0;x\a\n\u009b31m";
  for (const auto& lines :
       {Journal().start({{hostile, true}}).step(hostile, {outside()}).end(RunResult::fail).lines(),
        Journal().start({{"a", true}}).add(std::nullopt, TestError{hostile, hostile}).lines(),
        std::vector<std::string>{R"({"testRunArtifact":{"\u001b[2J":1},"sequenceNumber":0,)"
                                 R"("timestamp":"2026-12-01T00:00:00Z"})"}}) {
    RunSummary run = fold(lines);
    run.ended = true;
    const std::string reason = verdict_reason(run, false);
    EXPECT_FALSE(reason.empty());
    for (const char c : reason) EXPECT_GE(static_cast<unsigned char>(c), 0x20) << reason;
    EXPECT_EQ(reason.find("\u009b"), std::string::npos) << reason;
  }
}

TEST(Verdict, bytesBehindTheEndOfARunAreDamageAndOthersACut) {
  const auto finish = [](const Journal& journal, std::size_t lines, std::string_view unfinished) {
    RunFold folded;
    for (std::size_t i = 0; i < lines; ++i) folded.apply(parse_line(journal.lines()[i]), i + 1);
    EXPECT_TRUE(folded.finish(unfinished));
    return verdict_of(folded.summary(), false);
  };
  const Journal journal = healthy();
  const std::size_t all = journal.lines().size();
  EXPECT_EQ(finish(journal, all, ""), Verdict::pass);
  EXPECT_EQ(finish(journal, all, "{"), Verdict::incomplete);
  EXPECT_EQ(finish(journal, all, std::string_view("\0", 1)), Verdict::incomplete);
  EXPECT_EQ(finish(journal, all - 1, "{\"testRunArtifact\":"), Verdict::aborted);
  EXPECT_EQ(finish(journal, 0, "{\"schemaVersion\":"), Verdict::aborted);
}

TEST(Verdict, whatIsNoJournalIsNoAbortedRun) {
  for (const std::string_view unfinished : {std::string_view(), std::string_view("\0\0", 2),
                                            std::string_view("hello"), std::string_view("[1")}) {
    EXPECT_EQ(RunFold().finish(unfinished).error().kind, ErrorKind::bad_file);
  }
  for (const char* line : {"hello", "{}", "[]", "{\"a\":1}"}) {
    RunFold folded;
    folded.apply(parse_line(line), 1);
    EXPECT_EQ(folded.finish("").error().kind, ErrorKind::bad_file) << line;
  }
}

}  // namespace
}  // namespace assay::reports
