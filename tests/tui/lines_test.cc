#include "tui/lines.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/clock.h"

namespace assay::tui {
namespace {

using reports::Event;
using reports::Extension;
using reports::Payload;

// A run of one step, with stamps of the test's choosing.
class Lines : public testing::Test {
 protected:
  Lines() {
    reports::RunStart start;
    start.parameters = {{"plan", {{"id", "fat"}}}, {"operator", "\xE7\x8E\x8B"}};
    add(0, std::move(start), std::nullopt);
    add(0, reports::StepStart{"a"});
  }
  void add(std::int64_t seconds, Payload payload, std::optional<std::string> step = "a") {
    model_.apply(Event{sequence_++, seconds * ns_per_s, std::move(step), std::move(payload)}, 1);
  }
  void progress(std::int64_t seconds, std::uint64_t done) {
    add(seconds, Extension{"assay.progress",
                           {{"done", done}, {"total", std::uint64_t{10}}, {"text", "0xAA"}}});
  }
  std::string at(std::int64_t seconds) { return printer_.update(model_, seconds * ns_per_s); }

  DashboardModel model_;
  LinePrinter printer_{false};
  std::uint64_t sequence_ = 0;
};

TEST_F(Lines, ProgressComesEveryTwoSecondsAndOnlyWhenItMoves) {
  EXPECT_EQ(at(0), "ASSAY  op ??  plan fat\nSTART a\n");
  progress(1, 1);
  EXPECT_EQ(at(1), "");
  progress(3, 3);
  EXPECT_EQ(at(3), "       30 %  0xAA  ~7.0 s left\n");
  EXPECT_EQ(at(4), "");
  EXPECT_EQ(at(9), "");  // it stands still
  progress(11, 10);
  EXPECT_EQ(at(11), "      100 %  0xAA  ~0.0 s left\n");
}

TEST_F(Lines, WarningsAreSaidOnceAndOtherLogLinesNot) {
  at(0);
  add(1, reports::Log{reports::Severity::info, "hello"});
  add(1, reports::Log{reports::Severity::warning, "not locked"});
  EXPECT_EQ(at(1), "WARN  a  not locked\n");
  EXPECT_EQ(at(2), "");
  // More than are kept between two looks: the kept ones are said, nothing is said twice.
  for (std::size_t i = 0; i < reports::kept_logs + 10; ++i) {
    add(2, reports::Log{reports::Severity::warning, std::to_string(i)});
  }
  const std::string text = at(3);
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'),
            static_cast<std::ptrdiff_t>(reports::kept_logs));
  EXPECT_TRUE(text.starts_with("WARN  a  10\n")) << text.substr(0, 40);
  EXPECT_EQ(at(4), "");
}

TEST_F(Lines, EverythingIsSaidOnce) {
  add(1, reports::Diagnosis{"NOTED", reports::DiagnosisType::unknown, "odd"});
  add(2, reports::StepEnd{});
  const std::string text = at(2);
  EXPECT_NE(text.find("NOTE  a "), std::string::npos);
  EXPECT_NE(text.find("PASS  a "), std::string::npos);
  EXPECT_EQ(at(3), "");
}

}  // namespace
}  // namespace assay::tui
