#include <gmock/gmock.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/wait.h>

#include <algorithm>
#include <clocale>
#include <csignal>
#include <cstdlib>
#include <random>

#include "base/clock.h"
#include "tests/tui/pty_run.h"
#include "tests/tui/runs.h"
#include "tui/follow.h"

namespace assay::tui {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr int left_alone = 10;  // exit codes of the child
constexpr int interrupted = 11;
constexpr int no_terminal = 12;
constexpr const char* leave_screen = "\x1b[?1049l";

// What main() does around the dashboard.
int show(FollowOptions options, bool with_signal_fd = true, const char* type = "xterm",
         const char* locale = "C.UTF-8") {
  setenv("TERM", type, 1);
  std::setlocale(LC_ALL, locale);
  if (with_signal_fd) {
    sigset_t set;
    sigemptyset(&set);
    for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGTSTP, SIGWINCH}) sigaddset(&set, signal);
    sigprocmask(SIG_BLOCK, &set, nullptr);
    options.signal_fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
  }
  if (!can_show_dashboard()) return no_terminal;
  const auto followed = follow_with_dashboard(options);
  if (!followed) return 2;
  return followed->interrupted ? interrupted : left_alone;
}

class Dashboard : public testing::Test {
 protected:
  std::string journal() const { return folder_.path("journal.jsonl"); }
  TempFolder folder_;
};

TEST_F(Dashboard, KeepsTheVerdictUntilAKeyAndLeavesTheTerminalAsItWas) {
  write_run(journal(), RunMoment::failed);
  PtyRun run(40, 120, [&] { return show({.journal = journal(), .stay_at_end = true}); });
  ASSERT_TRUE(run.wait_for("PCIE_LINK_DEGRADED"));
  ASSERT_TRUE(run.wait_for("Enter, q"));
  EXPECT_FALSE(run.modes_as_before());
  run.type("q");
  const int status = run.wait_for_end();
  EXPECT_EQ(status, left_alone << 8);
  EXPECT_TRUE(run.modes_as_before());
  EXPECT_THAT(run.output(), HasSubstr(leave_screen));
}

TEST_F(Dashboard, EndsWithTheRun) {
  write_run(journal(), RunMoment::passed);
  PtyRun run(24, 80, [&] { return show({.journal = journal()}); });
  EXPECT_EQ(run.wait_for_end(), left_alone << 8);
  EXPECT_TRUE(run.modes_as_before());
}

TEST_F(Dashboard, QLeavesAWatchedRunThatGoesOn) {
  const auto writer = write_run(journal(), RunMoment::running);
  PtyRun run(24, 80, [&] { return show({.journal = journal(), .stay_at_end = true}); });
  ASSERT_TRUE(run.wait_for("RUNNING"));
  run.type("q");
  EXPECT_EQ(run.wait_for_end(), interrupted << 8);
  EXPECT_TRUE(run.modes_as_before());
}

TEST_F(Dashboard, AScannedSerialNumberPressesNoKey) {
  const auto writer = write_run(journal(), RunMoment::running);
  PtyRun run(24, 80, [&] { return show({.journal = journal()}); });
  ASSERT_TRUE(run.wait_for("RUNNING"));
  run.forget();
  run.type("QA-2026-004417\r");
  writer->log(reports::Severity::info, "it goes on");
  ASSERT_TRUE(run.wait_for("it goes on"));
  run.type("q");
  EXPECT_EQ(run.wait_for_end(), interrupted << 8);
}

TEST_F(Dashboard, CtrlCStopsTheRunAndASecondTimeLeaves) {
  const auto writer = write_run(journal(), RunMoment::running);
  PtyRun run(24, 80, [&] { return show({.journal = journal(), .on_interrupt = [] {}}); });
  ASSERT_TRUE(run.wait_for("abort"));
  run.type("\x03");
  ASSERT_TRUE(run.wait_for("stopping the run"));
  run.type("\x03");
  EXPECT_EQ(run.wait_for_end(), interrupted << 8);
  EXPECT_TRUE(run.modes_as_before());
}

TEST_F(Dashboard, FollowsARunThatGrows) {
  const std::string path = journal();
  PtyRun run(24, 80, [&] {
    while (access(path.c_str(), R_OK) != 0) poll(nullptr, 0, 5);
    return show({.journal = path});
  });
  // Made after the child, which would hold the writer's lock too.
  auto writer = write_run(path, RunMoment::running);
  ASSERT_TRUE(run.wait_for("71 %"));
  run.forget();
  writer->log(reports::Severity::info, "something new");
  ASSERT_TRUE(run.wait_for("something new"));
  // A small change is a small write.
  EXPECT_LT(run.output().size(), 2000U);
  writer.reset();
  EXPECT_EQ(run.wait_for_end(), left_alone << 8);
}

TEST_F(Dashboard, TakesNewSizesAnyAndNone) {
  const auto writer = write_run(journal(), RunMoment::running);
  PtyRun run(0, 0, [&] { return show({.journal = journal()}); });  // a serial console: 80x24
  ASSERT_TRUE(run.wait_for("memory.fragmentation"));
  run.resize(50, 160);
  ASSERT_TRUE(run.wait_for("\x1b[50;"));  // the cursor goes to the last line
  for (const auto& [rows, cols] : {std::pair{1, 1}, {5, 20}, {200, 300}, {2, 500}, {14, 59}}) {
    run.resize(rows, cols);
    run.forget();
    run.type("\x0c");  // and a repaint, to see that it lives
    ASSERT_TRUE(run.wait_for("\x1b[H\x1b[2J")) << rows << 'x' << cols;
  }
  run.resize(30, 100);
  run.forget();
  ASSERT_TRUE(run.wait_for("Plan"));
  run.type("q");
  EXPECT_EQ(run.wait_for_end(), interrupted << 8);
  EXPECT_TRUE(run.modes_as_before());
}

TEST_F(Dashboard, SignalsLeaveTheTerminalAsItWas) {
  const auto writer = write_run(journal(), RunMoment::running);
  for (const int signal : {SIGTERM, SIGHUP, SIGINT}) {
    PtyRun run(24, 80, [&] { return show({.journal = journal()}); });
    ASSERT_TRUE(run.wait_for("RUNNING"));
    run.send(signal);
    EXPECT_EQ(run.wait_for_end(), interrupted << 8);
    EXPECT_TRUE(run.modes_as_before());
    EXPECT_THAT(run.output(), HasSubstr(leave_screen));
  }
}

TEST_F(Dashboard, DeadlySignalsRestoreTheTerminalAndKill) {
  const auto writer = write_run(journal(), RunMoment::running);
  for (const int signal : {SIGSEGV, SIGABRT, SIGBUS, SIGTERM, SIGHUP, SIGQUIT}) {
    PtyRun run(24, 80, [&] {
      const rlimit none{0, 0};
      setrlimit(RLIMIT_CORE, &none);
      return show({.journal = journal()}, false);
    });
    ASSERT_TRUE(run.wait_for("RUNNING"));
    run.send(signal);
    const int status = run.wait_for_end();
    ASSERT_NE(status, -1);
    // A sanitizer, which handles crashes too, turns them into an exit code.
    EXPECT_TRUE(WIFSIGNALED(status) ? WTERMSIG(status) == signal : WEXITSTATUS(status) != 0);
    EXPECT_TRUE(run.modes_as_before()) << signal;
    EXPECT_THAT(run.output(), HasSubstr(leave_screen)) << signal;
  }
}

TEST_F(Dashboard, SuspendsAndComesBack) {
  const auto writer = write_run(journal(), RunMoment::running);
  PtyRun run(24, 80, [&] { return show({.journal = journal()}); });
  ASSERT_TRUE(run.wait_for("RUNNING"));
  run.type("\x1a");
  ASSERT_TRUE(run.wait_for(leave_screen));
  run.forget();
  // Continued before it has stopped, the signal would be lost: send it until it is back.
  const std::int64_t deadline = monotonic_ns() + 20 * ns_per_s;
  while (run.output().find("RUNNING") == std::string::npos && monotonic_ns() < deadline) {
    run.send(SIGCONT);
    run.wait_briefly();
  }
  EXPECT_THAT(run.output(), HasSubstr("RUNNING"));
  run.type("q");
  EXPECT_EQ(run.wait_for_end(), interrupted << 8);
  EXPECT_TRUE(run.modes_as_before());
}

TEST_F(Dashboard, LeavesWithoutSpinningWhenTheTerminalIsGone) {
  const auto writer = write_run(journal(), RunMoment::running);
  PtyRun run(24, 80, [&] { return show({.journal = journal(), .on_interrupt = [] {}}); });
  ASSERT_TRUE(run.wait_for("RUNNING"));
  run.hang_up();
  EXPECT_EQ(run.wait_for_end(), interrupted << 8);
}

TEST_F(Dashboard, OutlivesAStormOfKeysAndSizes) {
  const auto writer = write_run(journal(), RunMoment::running);
  PtyRun run(24, 80, [&] { return show({.journal = journal()}); });
  ASSERT_TRUE(run.wait_for("RUNNING"));
  std::minstd_rand random(1);
  for (int i = 0; i < 300; ++i) {
    run.resize(static_cast<int>(random() % 60), static_cast<int>(random() % 200));
    std::string bytes(16, ' ');
    for (char& byte : bytes) {
      do {
        byte = static_cast<char>(random());
      } while (byte == '\x03' || byte == '\x1a');  // these would stop it, rightly
    }
    run.type(bytes);
    run.wait_briefly();
  }
  run.resize(24, 80);
  run.type("\x03");
  EXPECT_EQ(run.wait_for_end(), interrupted << 8);
  EXPECT_TRUE(run.modes_as_before());
}

TEST_F(Dashboard, AnyTerminalAndAnyLocale) {
  write_run(journal(), RunMoment::failed);
  for (const char* type :
       {"xterm-256color", "screen", "tmux-256color", "linux", "vt100", "vt220"}) {
    for (const char* locale : {"C", "C.UTF-8"}) {
      PtyRun run(24, 80, [&] { return show({.journal = journal()}, true, type, locale); });
      const int status = run.wait_for_end();
      if (status == no_terminal << 8) continue;  // a kind that this machine does not know
      EXPECT_EQ(status, left_alone << 8) << type;
      EXPECT_TRUE(run.modes_as_before()) << type;
      EXPECT_THAT(run.output(), HasSubstr("PCIE_LINK_DEGRADED")) << type;
      const bool ascii = std::all_of(run.output().begin(), run.output().end(),
                                     [](char c) { return static_cast<unsigned char>(c) < 0x80; });
      EXPECT_EQ(ascii, std::string(locale) == "C") << type;
    }
  }
}

TEST_F(Dashboard, NoColorMeansNone) {
  write_run(journal(), RunMoment::failed);
  const auto output = [&](bool colour) {
    PtyRun run(24, 80, [&] {
      if (!colour) setenv("NO_COLOR", "1", 1);
      return show({.journal = journal()});
    });
    EXPECT_EQ(run.wait_for_end(), left_alone << 8);
    return run.output();
  };
  EXPECT_THAT(output(true), HasSubstr("31m"));
  EXPECT_THAT(output(false), Not(HasSubstr("31m")));
}

TEST_F(Dashboard, WhatIsNoTerminalIsSaidSo) {
  PtyRun dumb(24, 80, [] {
    setenv("TERM", "dumb", 1);
    if (can_show_dashboard()) return 1;
    setenv("TERM", "no-such-terminal", 1);
    if (can_show_dashboard()) return 2;
    unsetenv("TERM");
    return can_show_dashboard() ? 3 : 0;
  });
  EXPECT_EQ(dumb.wait_for_end(), 0);
}

}  // namespace
}  // namespace assay::tui
