#include "tui/model.h"

#include <gtest/gtest.h>

#include "base/clock.h"
#include "tests/tui/runs.h"

namespace assay::tui {
namespace {

using reports::Event;
using reports::Extension;
using reports::Payload;
using reports::StepStart;

// Feeds events with stamps of the test's choosing.
class Model : public testing::Test {
 protected:
  void add(std::int64_t seconds, Payload payload, std::optional<std::string> step = "a") {
    model_.apply(Event{sequence_++, seconds * ns_per_s, std::move(step), std::move(payload)}, 1);
  }
  void start(std::int64_t seconds) {
    reports::RunStart start;
    start.parameters = {{"plan", {{"steps", {{{"id", "a"}}, {{"id", "b"}}}}}}};
    add(seconds, std::move(start), std::nullopt);
  }
  void progress(std::int64_t seconds, std::uint64_t done, std::uint64_t total) {
    add(seconds, Extension{"assay.progress", {{"done", done}, {"total", total}}});
  }
  const reports::StepRecord& step(std::size_t i) const { return model_.run().steps.at(i); }

  DashboardModel model_;
  std::uint64_t sequence_ = 0;
};

TEST_F(Model, TimeStandsStillWhenTheRunHasEnded) {
  EXPECT_EQ(model_.elapsed_ns(50 * ns_per_s), 0);
  start(100);
  EXPECT_EQ(model_.elapsed_ns(107 * ns_per_s), 7 * ns_per_s);
  EXPECT_EQ(model_.elapsed_ns(90 * ns_per_s), 0);  // the clock was set back
  add(110, StepStart{"a"});
  EXPECT_EQ(model_.elapsed_ns(step(0), 115 * ns_per_s), 5 * ns_per_s);
  EXPECT_EQ(model_.elapsed_ns(step(1), 115 * ns_per_s), 0);
  EXPECT_TRUE(model_.finish("{\"testRunArt"));  // cut off: its last event is its end
  EXPECT_EQ(model_.elapsed_ns(500 * ns_per_s), 10 * ns_per_s);
  EXPECT_EQ(model_.verdict(), reports::Verdict::aborted);
}

TEST_F(Model, RateAndTimeToGoFollowTheProgress) {
  start(0);
  add(1, StepStart{"a"});
  progress(2, 0, 1000);
  EXPECT_FALSE(model_.remaining_ns(step(0)));
  progress(12, 100, 1000);
  EXPECT_NEAR(model_.fraction_per_second(step(0)).value(), 0.01, 1e-9);
  EXPECT_EQ(model_.remaining_ns(step(0)).value() / ns_per_s, 90);
  // It became slower: what counts is the last half minute.
  progress(60, 110, 1000);
  progress(80, 130, 1000);
  EXPECT_NEAR(model_.fraction_per_second(step(0)).value(), 0.001, 1e-9);
  // A new part of the test begins with a new pace.
  progress(81, 0, 1000);
  EXPECT_FALSE(model_.remaining_ns(step(0)));
}

TEST_F(Model, NoTotalNoFraction) {
  start(0);
  add(1, StepStart{"a"});
  progress(2, 5, 0);
  progress(9, 9, 0);
  EXPECT_FALSE(DashboardModel::fraction(step(0)));
  EXPECT_FALSE(model_.remaining_ns(step(0)));
  EXPECT_FALSE(model_.expected_ns(10 * ns_per_s));
  progress(10, 12, 10);  // more than all
  EXPECT_EQ(DashboardModel::fraction(step(0)), 1.0);
}

TEST_F(Model, TheWholeRunIsExpectedByItsSteps) {
  start(0);
  add(0, StepStart{"a"});
  add(10, reports::StepEnd{});
  EXPECT_EQ(model_.expected_ns(10 * ns_per_s), 20 * ns_per_s);
}

TEST_F(Model, ShowsTheRunningStepElseTheLast) {
  start(0);
  EXPECT_EQ(model_.shown_step(), nullptr);
  add(1, StepStart{"a"});
  add(2, StepStart{"b"}, "b");
  EXPECT_EQ(model_.shown_step()->id, "b");
  add(3, reports::StepEnd{}, "b");
  EXPECT_EQ(model_.shown_step()->id, "a");
  add(4, reports::StepEnd{});
  EXPECT_EQ(model_.shown_step()->id, "b");
}

TEST_F(Model, AFaultComesBeforeAnObservation) {
  start(0);
  add(1, StepStart{"a"});
  add(2, reports::Diagnosis{"NOTED", reports::DiagnosisType::unknown, ""});
  add(3, StepStart{"b"}, "b");
  add(4, reports::Diagnosis{"BROKEN", reports::DiagnosisType::fail, ""}, "b");
  ASSERT_NE(model_.first_finding(), nullptr);
  EXPECT_EQ(model_.first_finding()->finding.code, "BROKEN");
  EXPECT_EQ(model_.step_of(model_.first_finding())->id, "b");
}

}  // namespace
}  // namespace assay::tui
