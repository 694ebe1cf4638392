#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/clock.h"
#include "reports/record/event.h"

namespace assay::reports {
namespace {

using ::testing::HasSubstr;

constexpr std::int64_t some_time = 1'796'123'456'789'012'000;

std::vector<Event> every_kind() {
  const Validator limit = make_validator(Comparison::less_or_equal, 85.0, "Cel");
  const Validator version = make_validator(Comparison::greater_or_equal, "2.3.1", "", true);
  RunStart start{.name = "quick", .version = "0.1.0", .command_line = "assay run"};
  start.parameters = {{"plan", {{"id", "quick"}}}};
  start.dut_info = {{"dutInfoId", "M6-2026-004417"}};
  const std::vector<Payload> run = {SchemaVersion{}, start, Log{Severity::warning, "w"},
                                    TestError{"interrupted", "SIGINT"},
                                    RunEnd{Status::error, RunResult::not_applicable}};
  const std::vector<Payload> step = {
      StepStart{"pcie.link"},
      Measurement{"temperature", 71.3, "Cel", {limit}, "thermal_zone0"},
      Measurement{"version", "2.3.1", "", {version}},
      Measurement{"on", true, "", {}},
      Measurement{"errors", std::int64_t{-3}, "1", {}},
      SeriesStart{"temperature", "Cel", "s/0", {limit}},
      SeriesElement{"s/0", 7, std::int64_t{3}, some_time},
      SeriesEnd{"s/0", 8},
      Diagnosis{"PCIE_LINK_DEGRADED", DiagnosisType::fail, "slow"},
      TestError{"timeout", ""},
      Log{Severity::info, "hello"},
      File{"dump", "file:dump.bin", "config space", true},
      Extension{"assay.progress", {{"done", 1}}},
      StepEnd{Status::skip}};
  std::vector<Event> events;
  for (const Payload& p : run) events.push_back({events.size(), some_time, std::nullopt, p});
  for (const Payload& p : step) events.push_back({events.size(), some_time, "pcie.link", p});
  return events;
}

TEST(EventJson, everyKindReadsBackAsItWasWritten) {
  for (const Event& event : every_kind()) {
    const std::string line = to_line(event);
    const auto read = parse_line(line);
    ASSERT_TRUE(read) << line << ": " << read.error().what;
    EXPECT_EQ(read->payload.index(), event.payload.index()) << line;
    EXPECT_EQ(read->sequence, event.sequence);
    EXPECT_EQ(read->wall_ns, event.wall_ns);
    EXPECT_EQ(read->step_id, event.step_id);
    EXPECT_EQ(to_line(*read), line);
    EXPECT_EQ(line.find('\n'), std::string::npos);
  }
}

TEST(EventJson, numbersReadBackExactly) {
  for (const double value : {0.1, 1.0 / 3, 1e-300, 1.7976931348623157e308, -0.0, 85.0}) {
    const auto read =
        parse_line(to_line({0, some_time, "s", Measurement{"m", value, "1", {}, ""}}));
    ASSERT_TRUE(read);
    EXPECT_EQ(std::get<double>(std::get<Measurement>(read->payload).value), value);
  }
  for (const std::int64_t value : {INT64_MIN, std::int64_t{-1}, INT64_MAX}) {
    const auto read =
        parse_line(to_line({0, some_time, "s", Measurement{"m", value, "1", {}, ""}}));
    ASSERT_TRUE(read);
    EXPECT_EQ(std::get<std::int64_t>(std::get<Measurement>(read->payload).value), value);
  }
}

TEST(EventJson, bytesThatAreNoTextBecomeText) {
  const std::string line =
      to_line({0, some_time, "s", Log{Severity::info, "a\xff\xfe\"\n\x01 \xe6\x9d\xbf"}});
  EXPECT_THAT(line, HasSubstr("\\n"));
  const auto read = parse_line(line);
  ASSERT_TRUE(read);
  EXPECT_EQ(std::get<Log>(read->payload).message, "a\xEF\xBF\xBD\xEF\xBF\xBD\"\n\x01 \xe6\x9d\xbf");
}

TEST(EventJson, refusesWhatIsNoEvent) {
  for (
      const char* line :
      {"", "{", "[]", "null", "{}", R"({"sequenceNumber":0})",
       R"({"sequenceNumber":-1,"timestamp":"2026-12-01T00:00:00Z","schemaVersion":{"major":2,"minor":0}})",
       R"({"sequenceNumber":0,"timestamp":"yesterday","schemaVersion":{"major":2,"minor":0}})",
       R"({"sequenceNumber":0,"timestamp":"2026-12-01T00:00:00Z","schemaVersion":{"major":3,"minor":0}})",
       R"({"sequenceNumber":0,"timestamp":"2026-12-01T00:00:00Z","testRunArtifact":{}})",
       R"({"sequenceNumber":0,"timestamp":"2026-12-01T00:00:00Z","testRunArtifact":{"testRunEnd":{"status":"FINE","result":"PASS"}}})",
       R"({"sequenceNumber":0,"timestamp":"2026-12-01T00:00:00Z","testStepArtifact":{"testStepEnd":{"status":"COMPLETE"}}})",
       R"({"sequenceNumber":0,"timestamp":"2026-12-01T00:00:00Z","testStepArtifact":{"testStepId":"s","measurement":{"name":"m","value":null}}})",
       R"({"sequenceNumber":0,"timestamp":"2026-12-01T00:00:00Z","testStepArtifact":{"testStepId":"s","measurement":{"name":"m","value":1,"validators":[{"type":"MAYBE","value":1}]}}})",
       R"({"sequenceNumber":0,"timestamp":"2026-12-01T00:00:00Z","testStepArtifact":{"testStepId":"s","surprise":{}}})"}) {
    EXPECT_FALSE(parse_line(line)) << line;
  }
  EXPECT_FALSE(parse_line(std::string(max_line_bytes + 1, ' ')));
  EXPECT_FALSE(parse_line(std::string(100'000, '[')));
  // Deep enough to overflow the stack of whoever copies it.
  const auto nested = [](int levels) {
    return R"({"sequenceNumber":0,"timestamp":"2026-12-01T00:00:00Z","testStepArtifact":{"testStepId":"s",)"
           R"("extension":{"name":"x","content":{"y\"[":)" +
           std::string(levels, '[') + std::string(levels, ']') + "}}}}";
  };
  EXPECT_FALSE(parse_line(nested(400'000)));
  EXPECT_FALSE(parse_line(nested(61)));
  EXPECT_TRUE(parse_line(nested(60)));
}

}  // namespace
}  // namespace assay::reports
