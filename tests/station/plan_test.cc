#include "station/config/plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/program.h"

namespace assay::station {
namespace {

using ::testing::HasSubstr;

Result<Plan> plan_of(const std::string& text) {
  auto file = LocatedJson::parse(text, "plan.json");
  if (!file) return std::unexpected(file.error());
  return parse_plan(*file);
}

Result<Plan> with_step(const std::string& step) {
  return plan_of(R"({ "schema": "assay/plan/1", "id": "p", "steps": [ )" + step + " ] }");
}

const char* const memory =
    R"({ "id": "m", "use": "memory.test", "with": { "tests": ["0xAA"], "size": "1MiB" },
         "limits": { "errors": { "equal": 0 } } })";

std::string memory_with(const std::string& from, const std::string& to) {
  std::string text = memory;
  text.replace(text.find(from), from.size(), to);
  return text;
}

std::string workload(const std::string& model, const std::string& precision, int layers) {
  return R"({ "id": "w", "use": "workload.generate", "with": { "model": ")" + model +
         R"(", "precision": ")" + precision + R"(", "layers": )" + std::to_string(layers) +
         R"(, "prompt_tokens": 1, "tokens": 1 }, "limits": {
           "first_token": { "at_most": 1, "unit": "s" },
           "per_token_p99": { "at_most": 1, "unit": "s" } } })";
}

TEST(Plan, quickHasEveryStepOfFat) {
  const auto read = [](const char* name) {
    return parse_plan(*LocatedJson::read(std::string(ASSAY_SOURCE "/boards/plans/") + name))
        .value();
  };
  const Plan quick = read("quick.json");
  const Plan fat = read("fat.json");
  EXPECT_EQ(quick.reduced_from, "fat");
  ASSERT_EQ(quick.steps.size(), fat.steps.size());
  for (std::size_t i = 0; i < fat.steps.size(); ++i) {
    EXPECT_EQ(quick.steps[i].id, fat.steps[i].id);
    EXPECT_EQ(quick.steps[i].probe, fat.steps[i].probe);
  }
  EXPECT_EQ(quick.monitors.size(), fat.monitors.size());
}

TEST(Plan, readsParametersLimitsAndTimes) {
  const auto plan = plan_of(R"({ "schema": "assay/plan/1", "id": "p",
    "monitors": [ { "use": "thermal.sample", "hz": 4, "stop": true,
                    "limits": { "temperature": { "at_most": 85, "unit": "Cel" } } } ],
    "steps": [ { "id": "m", "use": "memory.test",
                 "with": { "tests": ["0xAA", "0x55"], "size": "available", "minimum": "2GiB", "iterations": 3 },
                 "limits": { "errors": { "equal": 0 }, "coverage": { "at_least": 0.8, "unit": "1" } },
                 "timeout": "10min", "required": false } ] })");
  ASSERT_TRUE(plan) << plan.error().text();
  const PlanStep& step = plan->steps[0];
  EXPECT_TRUE(step.parameters.is_available_size("size"));
  EXPECT_EQ(step.parameters.number("minimum", 0), std::uint64_t{2} << 30);
  EXPECT_EQ(step.parameters.number("iterations", 0), 3u);
  EXPECT_EQ(step.parameters.texts("tests").size(), 2u);
  EXPECT_EQ(step.limits.size(), 2u);
  EXPECT_EQ(step.timeout_ns, 600'000'000'000);
  EXPECT_FALSE(step.required);
  EXPECT_TRUE(plan->monitors[0].stops_step);
  EXPECT_EQ(plan->monitors[0].limits[0].validators[0].name, "at most 85 Cel");
}

TEST(Plan, saysWhatIsWrongAndWhere) {
  const struct {
    std::string step;
    const char* says;
  } cases[] = {
      {R"({ "id": "x", "use": "memory.tset" })", "no probe \"memory.tset\": expected one of"},
      {R"({ "id": "x", "use": "thermal.sample" })", "no probe \"thermal.sample\""},
      {R"({ "id": "X!", "use": "pcie.link" })", "\"id\": expected"},
      {R"({ "id": "x", "use": "pcie.link", "timeout": "soon" })",
       "\"timeout\": expected a duration"},
      {R"({ "id": "x", "use": "pcie.link", "timeout": "0s" })", "\"timeout\": expected a duration"},
      {R"({ "id": "x", "use": "pcie.link", "required": 1 })", "expected true or false"},
      {R"({ "id": "x", "use": "pcie.link", "color": 1 })", "unknown key \"color\""},
      {R"({ "id": "x", "use": "pcie.link" }, { "id": "x", "use": "pcie.link" })",
       "a second step \"x\""},
      {memory_with(R"("limits": { "errors": { "equal": 0 } })", R"("required": true)"),
       "a limit for errors is missing"},
      {memory_with("\"errors\"", "\"erors\""), "memory.test measures no \"erors\""},
      {memory_with("\"equal\": 0", "\"unit\": \"1\""), "no limit for errors"},
      {memory_with("\"equal\": 0", "\"equal\": \"none\""), "expected a number"},
      {memory_with("\"equal\": 0", "\"equals\": 0"), "unknown key \"equals\""},
      {memory_with("\"equal\": 0", "\"equal\": 0, \"unit\": \"By\""),
       "unit \"By\" for errors: expected 1"},
      {memory_with("{ \"equal\": 0 }",
                   "{ \"equal\": 0 }, \"size\": { \"at_least\": 1, \"unit\": \"bytes\" }"),
       "unknown unit \"bytes\" for size: expected By"},
      {memory_with("{ \"equal\": 0 }", "{ \"equal\": 0 }, \"size\": { \"at_least\": 1 }"),
       "\"unit\" is missing"},
      {memory_with("\"1MiB\"", "\"1 elephant\""), "\"1 elephant\" is not a size"},
      {memory_with("\"1MiB\"", "1048576"), "\"size\": expected a size such as"},
      {memory_with("[\"0xAA\"]", "\"0xAA\""), "\"tests\": expected a list of texts"},
      {memory_with("\"tests\": [\"0xAA\"], ", ""), "lacks \"tests\""},
      {memory_with("\"size\": \"1MiB\"", "\"size\": \"1MiB\", \"speed\": 1"),
       "memory.test takes no \"speed\""},
      {memory_with("\"size\": \"1MiB\"", "\"size\": \"1MiB\", \"iterations\": 0"),
       "\"iterations\": expected a whole number from 1 to"},
      {memory_with("0xAA", "AA"), "\"tests\": no memory test \"AA\"; there are"},
      {memory_with("1MiB", "101%"), "\"size\": expected a share from 1% to 100%"},
      {memory_with("\"1MiB\"", "\"1MiB\", \"time\": \"0s\""),
       "\"time\": expected a duration above 0"},
      {memory_with("\"1MiB\"", "\"1MiB\", \"time\": 5"), "\"time\": expected a duration such as"},
      {memory_with("\"1MiB\"", "\"1MiB\", \"fresh_frames\": \"yes\""),
       "\"fresh_frames\": expected true or false"},
      {memory_with("1MiB", "1KiB"), "\"size\": 1024 bytes are no test"},
      {memory_with("\"1MiB\"", "\"1MiB\", \"minimum\": \"2MiB\""),
       "\"minimum\": more than the size"},
      {workload("gpt-9", "f16", 1), "\"model\": no model \"gpt-9\"; known are"},
      {workload("moe-small", "fp3", 1), "\"precision\": no precision \"fp3\"; known are"},
      {workload("moe-small", "f16", 5), "\"layers\": moe-small has 4 layers, 5 asked for"},
      {memory_with("\"equal\": 0", "\"at_least\": 5, \"at_most\": 4"),
       "no errors is at least 5 and at most 4"},
      {R"({ "id": "f", "use": "firmware.query", "limits": { "version": { "at_least": "new", "unit": "x" } } })",
       "unknown unit \"x\" for version: expected none"},
      {R"({ "id": "f", "use": "firmware.query", "limits": { "version": { "at_least": "new" } } })",
       "expected a version such as 2.3.1"},
  };
  for (const auto& c : cases) {
    const auto plan = with_step(c.step);
    ASSERT_FALSE(plan) << c.step;
    EXPECT_EQ(plan.error().kind, ErrorKind::bad_file);
    EXPECT_THAT(plan.error().text(), HasSubstr(c.says)) << c.step;
    EXPECT_THAT(plan.error().where, ::testing::MatchesRegex("plan.json:[0-9]+:[0-9]+")) << c.step;
  }
  EXPECT_FALSE(plan_of(R"({ "schema": "assay/plan/1", "id": "p", "steps": [] })"));
  EXPECT_FALSE(plan_of(
      R"({ "schema": "assay/plan/1", "id": "p", "steps": [], "monitors": [ { "use": "pcie.link", "hz": 1 } ] })"));
}

TEST(Plan, aWorkloadThatCanBeIsTaken) {
  EXPECT_TRUE(with_step(workload("moe-small", "f16", 4)));
}

TEST(Plan, aLimitBeyond64BitsDoesNotWrap) {
  const auto plan = with_step(
      R"({ "id": "f", "use": "memory.fragmentation",
           "limits": { "largest_free_block": { "at_least": 18446744073709551615, "unit": "By" } } })");
  ASSERT_TRUE(plan) << plan.error().text();
  EXPECT_FALSE(reports::satisfies(std::int64_t{4096}, plan->steps[0].limits[0].validators));
}

TEST(Plan, aVersionIsLimitedWithoutAUnit) {
  const auto plan = with_step(
      R"({ "id": "f", "use": "firmware.query", "limits": { "version": { "at_least": "2.3.1" } } })");
  ASSERT_TRUE(plan) << plan.error().text();
  EXPECT_TRUE(plan->steps[0].limits[0].validators[0].semantic_version);
}

}  // namespace
}  // namespace assay::station
