#include "tui/text.h"

#include <gmock/gmock.h>

#include "tui/glyph.h"

namespace assay::tui {
namespace {

using reports::Comparison;
using reports::make_validator;
using testing::Each;
using testing::ElementsAre;
using testing::Le;
using testing::ResultOf;

TEST(Text, ValuesCarryTheirUnitAsPeopleWriteIt) {
  EXPECT_EQ(value_text(std::int64_t{536870912}, "By"), "512 MiB");
  EXPECT_EQ(value_text(71.25, "Cel"), "71.25 °C");
  EXPECT_EQ(value_text(12.34567, "GBy/s"), "12.35 GB/s");
  EXPECT_EQ(value_text(8.0, "GT/s"), "8 GT/s");
  EXPECT_EQ(value_text(11.5, "{token}/s"), "11.5 tok/s");
  EXPECT_EQ(value_text(std::int64_t{0}, "1"), "0");
  EXPECT_EQ(value_text(123456.7, ""), "123457");
  EXPECT_EQ(value_text(1e300, ""), "1e+300");
  EXPECT_EQ(value_text(std::string("2.3.1\x07"), ""), "2.3.1\\x07");
  EXPECT_EQ(value_text(true, ""), "true");
}

TEST(Text, LimitsAndMeasurements) {
  const reports::Measurement speed{"link_speed",
                                   2.5,
                                   "GT/s",
                                   {make_validator(Comparison::greater_or_equal, 8.0, "GT/s"),
                                    make_validator(Comparison::less, 64.0, "GT/s")},
                                   "0000:01:00.0"};
  EXPECT_EQ(measurement_text(speed),
            "link_speed 2.5 GT/s (at least 8 GT/s, below 64 GT/s)  0000:01:00.0");
}

reports::StepRecord failed_link() {
  reports::StepRecord step;
  step.id = "pcie.link";
  step.state = reports::StepState::fail;
  step.headline = "2.5GT/s x1";
  step.start_ns = 1'000'000'000;
  step.end_ns = 4'200'000'000;
  return step;
}

TEST(Text, AStepIsOneAlignedLine) {
  EXPECT_EQ(step_text(failed_link(), 14),
            "FAIL  pcie.link       2.5GT/s x1                     3.2 s");
  reports::StepRecord cut = failed_link();
  cut.end_ns = 0;
  EXPECT_EQ(step_text(cut, 0), "FAIL  pcie.link  2.5GT/s x1");
}

TEST(Text, AFindingAsAPersonSeesIt) {
  const reports::Finding finding{.code = "PCIE_LINK_DEGRADED",
                                 .message = "the NPU runs at 2.5 GT/s x1",
                                 .where = "root port 0000:00:02.0",
                                 .evidence = {"LnkSta 0x1011", "LnkCap 0x0043f443"},
                                 .likely = {"dirty contacts"},
                                 .remedy = {"reseat", "move to another slot"}};
  EXPECT_THAT(finding_text(failed_link(), finding, 60),
              ElementsAre("FAIL  pcie.link                           PCIE_LINK_DEGRADED",
                          "  the NPU runs at 2.5 GT/s x1", "  Where     root port 0000:00:02.0",
                          "  Likely    dirty contacts", "  Do        reseat; move to another slot",
                          "  Evidence  LnkSta 0x1011; LnkCap 0x0043f443"));
  EXPECT_THAT(finding_text(failed_link(), finding, 30), Each(ResultOf(text_width, Le(31))));
  EXPECT_FALSE(finding_text(failed_link(), finding, 1).empty());
}

TEST(Text, RemarksNameWhatSpeaksAgainstTheStep) {
  reports::StepRecord step = failed_link();
  step.measurements.push_back({{"errors", std::int64_t{3}, "1"}, false});
  step.measurements.push_back({{"size", std::int64_t{3}, "1"}, true});
  step.errors.push_back({"io", "broken pipe"});
  EXPECT_THAT(step_remarks(step),
              ElementsAre("      outside  errors 3", "      error    io: broken pipe"));
}

TEST(Text, FiguresAreWhatIsWithinLimitsAndWhatCouldNotBeLookedAt) {
  reports::StepRecord step;
  step.measurements.push_back({{"errors", std::int64_t{3}, "1"}, false});
  step.measurements.push_back({{"size", std::int64_t{3}, "1"}, true});
  step.details["edac"] = "unavailable";
  step.details["tests"] = nlohmann::json::array();
  EXPECT_THAT(step_figures(step), ElementsAre("      size 3", "      edac: unavailable"));
}

}  // namespace
}  // namespace assay::tui
