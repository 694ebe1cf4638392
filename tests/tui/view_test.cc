#include "tui/view.h"

#include <gmock/gmock.h>

#include <sstream>

#include "base/clock.h"
#include "tests/tui/runs.h"

namespace assay::tui {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

constexpr RunMoment all_moments[] = {RunMoment::empty,  RunMoment::started, RunMoment::running,
                                     RunMoment::passed, RunMoment::failed,  RunMoment::incomplete,
                                     RunMoment::aborted};

bool grows(RunMoment moment) {
  return moment <= RunMoment::running;
}

class View : public testing::Test {
 protected:
  DashboardModel model(RunMoment moment) {
    const std::string journal = folder_.path(std::to_string(journals_++));
    write_run(journal, moment);
    return model_of(journal, grows(moment));
  }
  static std::string screen(const DashboardModel& model, int rows, int cols, bool utf8 = true) {
    MemoryCanvas canvas(rows, cols, utf8);
    draw(canvas, model, model.run().last_ns + 3 * ns_per_s, "a, q  abort");
    return canvas.dump();
  }
  std::string screen(RunMoment moment, int rows, int cols, bool utf8 = true) {
    return screen(model(moment), rows, cols, utf8);
  }

 protected:
  TempFolder folder_;

 private:
  int journals_ = 0;
};

TEST_F(View, RunningShowsWhoWhatAndHowFar) {
  const std::string text = screen(RunMoment::running, 40, 120);
  EXPECT_THAT(text, AllOf(HasSubstr("ASSAY  M6 mini 32GB  SN M6-测试-004417  op 王小明"),
                          HasSubstr("station L3-07  plan fat"), HasSubstr("▶ RUNNING"),
                          HasSubstr("✔ firmware.query"), HasSubstr("▶ memory.pattern"),
                          HasSubstr("· workload.moe")));
  EXPECT_THAT(
      text, AllOf(HasSubstr(" 71 %"), HasSubstr("March C- ⇑(r0,w1)  pass 3/5"),
                  HasSubstr("temperature"), HasSubstr("71 °C"), HasSubstr("at most 85 °C"),
                  HasSubstr("▁"), HasSubstr("█"), HasSubstr("512 MiB"), HasSubstr("a, q  abort")));
  // Bytes of an event never steer the terminal.
  EXPECT_THAT(text, AllOf(HasSubstr("\\x1B[31m"), Not(HasSubstr("\x1b"))));
}

TEST_F(View, TheClassicTerminalShowsTheSame) {
  EXPECT_THAT(screen(RunMoment::running, 24, 80),
              AllOf(HasSubstr("SN M6-测试-004417"), HasSubstr("▶ RUNNING"), HasSubstr("71 %"),
                    HasSubstr("memory.fragmentation"), HasSubstr("March C-"),
                    HasSubstr("temperature"), HasSubstr("the memory could not be locked")));
}

TEST_F(View, AFailureShowsItsFindingAndWhatToDo) {
  for (const auto& [rows, cols] : {std::pair{40, 120}, {24, 80}}) {
    const std::string text = screen(RunMoment::failed, rows, cols);
    EXPECT_THAT(text, AllOf(HasSubstr("✘ FAIL"), HasSubstr("✘ pcie.link"),
                            HasSubstr("PCIE_LINK_DEGRADED"), HasSubstr("Where"),
                            HasSubstr("Likely"), HasSubstr("Do  "), HasSubstr("█████")));
  }
  // The classic terminal has just the room for the whole finding.
  EXPECT_THAT(screen(RunMoment::failed, 24, 80), HasSubstr("Evidence  LnkSta 0x1011"));
  EXPECT_THAT(screen(RunMoment::failed, 40, 120),
              AllOf(HasSubstr("Evidence  LnkSta 0x1011"),
                    HasSubstr("outside  link_speed 2.5 GT/s (at least 8 GT/s)")));
}

TEST_F(View, TheVerdictsDifferInWordsAndColour) {
  const auto role_of_letters = [&](RunMoment moment) {
    MemoryCanvas canvas(40, 120, false);
    draw(canvas, model(moment), 0, "");
    for (int col = 0; col < 120; ++col) {
      if (canvas.role_at(4, col) != Role::normal) return canvas.role_at(4, col);
    }
    return Role::normal;
  };
  EXPECT_EQ(role_of_letters(RunMoment::passed), Role::pass);
  EXPECT_EQ(role_of_letters(RunMoment::failed), Role::fail);
  EXPECT_EQ(role_of_letters(RunMoment::incomplete), Role::warn);
  EXPECT_THAT(screen(RunMoment::passed, 40, 120), HasSubstr("PASS  every step passed"));
  EXPECT_THAT(screen(RunMoment::aborted, 40, 120), HasSubstr("ABORTED  interrupted"));
  EXPECT_THAT(screen(RunMoment::incomplete, 40, 120),
              AllOf(HasSubstr("INCOMPLETE  memory.fragmentation: /proc/buddyinfo"),
                    HasSubstr("ERROR"), HasSubstr("SKIP"), HasSubstr("no memory for the model")));
}

TEST_F(View, SmallScreensKeepTheWordThatCounts) {
  EXPECT_THAT(screen(RunMoment::running, 14, 59),
              AllOf(HasSubstr("RUNNING  memory.pattern  71 %"), HasSubstr("March C-")));
  EXPECT_THAT(screen(RunMoment::failed, 5, 20), HasSubstr("FAIL"));
  EXPECT_THAT(screen(RunMoment::passed, 1, 4), HasSubstr("PASS"));
  EXPECT_EQ(screen(RunMoment::passed, 1, 1), "P\n");
}

// Every row as wide as the screen: wide characters are counted right, and nothing is half.
TEST_F(View, EveryRowHasItsWidthAtEverySize) {
  for (const RunMoment moment : all_moments) {
    const DashboardModel run = model(moment);
    for (const auto& [rows, cols] : {std::pair{40, 120},
                                     {24, 80},
                                     {15, 60},
                                     {14, 59},
                                     {20, 5},
                                     {5, 20},
                                     {1, 1},
                                     {2, 3},
                                     {80, 200},
                                     {3, 300}}) {
      std::istringstream lines(screen(run, rows, cols));
      std::string line;
      int count = 0;
      while (std::getline(lines, line)) {
        ASSERT_EQ(text_width(line), cols)
            << rows << 'x' << cols << " row " << count << ": " << line;
        ++count;
      }
      ASSERT_EQ(count, rows);
    }
    EXPECT_EQ(screen(run, 0, 0), "");
  }
}

// A journal may come from anywhere, and say anything.
TEST_F(View, HostileTextStaysInItsPlace) {
  const std::string nasty = std::string(100'000, 'x') + "\x1b[2J";
  const std::string marks = [] {
    std::string text = "测";
    for (int i = 0; i < 50'000; ++i) text += "\xCC\x81";
    return text;
  }();
  const std::string journal = folder_.path("hostile");
  auto run = *reports::Recorder::create(journal);
  run->run_start({.name = nasty,
                  .parameters = {{"board", {{"name", marks}}}, {"operator", 7}, {"plan", "text"}},
                  .dut_info = {{"dutInfoId", nasty}}});
  auto step = run->begin_step(nasty, marks, {});
  step->progress(5, 3, marks);
  step->headline("\xE2\x80\xAE" + nasty);
  for (int i = 0; i < 40; ++i) step->measure(marks, nasty, nasty);
  step->finding({.code = nasty, .message = marks, .where = nasty});
  step->error(nasty, nasty);
  step->log(reports::Severity::error, nasty);
  for (const bool growing : {true, false}) {
    const DashboardModel hostile = model_of(journal, growing);
    for (const auto& [rows, cols] : {std::pair{40, 120}, {24, 80}, {14, 59}, {5, 20}, {1, 1}}) {
      for (const bool utf8 : {true, false}) {
        std::istringstream lines(screen(hostile, rows, cols, utf8));
        std::string line;
        while (std::getline(lines, line)) {
          ASSERT_EQ(text_width(line), cols);
          ASSERT_EQ(line.find('\x1b'), line.npos);
        }
      }
    }
  }
}

TEST_F(View, AsciiModeHasNoOtherByte) {
  for (const RunMoment moment : all_moments) {
    const std::string text = screen(moment, 40, 120, false);
    for (const char c : text) {
      ASSERT_TRUE(c == '\n' || (c >= 0x20 && c < 0x7F)) << static_cast<int>(c);
    }
  }
  EXPECT_THAT(screen(RunMoment::running, 40, 120, false),
              AllOf(HasSubstr("RUN  memory.pattern"), HasSubstr("PASS firmware.query"),
                    HasSubstr("####"), HasSubstr("+- Plan -")));
}

}  // namespace
}  // namespace assay::tui
