#include <gmock/gmock.h>
#include <sys/signalfd.h>

#include <csignal>
#include <cstdio>
#include <future>
#include <thread>

#include "tests/tui/runs.h"
#include "tui/follow.h"

namespace assay::tui {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

// What is written to a FILE.
class Output {
 public:
  Output() : file_(open_memstream(&text_, &size_)) {}
  ~Output() {
    std::fclose(file_);
    std::free(text_);
  }
  Output(const Output&) = delete;
  Output& operator=(const Output&) = delete;
  std::FILE* file() { return file_; }
  std::string text() {
    std::fflush(file_);
    return {text_, size_};
  }

 private:
  char* text_ = nullptr;
  std::size_t size_ = 0;
  std::FILE* file_;
};

std::string lines_of(const std::string& journal) {
  Output output;
  const auto followed = follow_with_lines({.journal = journal}, output.file());
  EXPECT_TRUE(followed.has_value());
  EXPECT_FALSE(followed->interrupted);
  return output.text();
}

TEST(FollowLines, AFinishedRun) {
  TempFolder folder;
  write_run(folder.path("j"), RunMoment::failed);
  const std::string text = lines_of(folder.path("j"));
  EXPECT_THAT(text, AllOf(HasSubstr("ASSAY  M6 mini 32GB  SN M6-"), HasSubstr("plan fat\n"),
                          HasSubstr("PASS  firmware.query        2.3.1"),
                          HasSubstr("FAIL  pcie.link"), HasSubstr("PCIE_LINK_DEGRADED\n"),
                          HasSubstr("  Where     root port"), HasSubstr("  Likely "),
                          HasSubstr("  Do "), HasSubstr("  Evidence  LnkSta 0x1011"),
                          HasSubstr("outside  link_speed 2.5 GT/s (at least 8 GT/s)")));
  // Plain: no escapes, no verdict of the run.
  EXPECT_THAT(text, AllOf(Not(HasSubstr("\x1b")), Not(HasSubstr("\nFAIL\n"))));
}

TEST(FollowLines, ErrorsAndSkippedStepsSayWhy) {
  TempFolder folder;
  write_run(folder.path("j"), RunMoment::incomplete);
  EXPECT_THAT(lines_of(folder.path("j")), AllOf(HasSubstr("ERROR memory.fragmentation"),
                                                HasSubstr("error    unavailable: /proc/buddyinfo"),
                                                HasSubstr("SKIP  workload.moe"),
                                                HasSubstr("skipped  no memory for the model")));
}

TEST(FollowLines, AJournalThatWasCutOffEndsWhereItEnds) {
  TempFolder folder;
  write_run(folder.path("j"), RunMoment::running);  // its writer is gone
  Output output;
  const auto followed = follow_with_lines({.journal = folder.path("j")}, output.file());
  ASSERT_TRUE(followed.has_value());
  EXPECT_FALSE(followed->summary.ended);
  EXPECT_EQ(verdict_of(followed->summary, false), reports::Verdict::aborted);
  EXPECT_THAT(output.text(), HasSubstr("START memory.pattern"));
}

TEST(FollowLines, AGrowingJournalIsReadToItsEnd) {
  TempFolder folder;
  auto created = reports::Recorder::create(folder.path("j"));
  ASSERT_TRUE(created.has_value());
  std::jthread writer([run = std::move(*created)]() mutable {
    run->run_start({.name = "r", .dut_info = {{"dutInfoId", "S1"}}});
    for (int i = 0; i < 200; ++i) {
      auto step = run->begin_step("step." + std::to_string(i), "x", {});
      step->end();
    }
    run->run_end({.result = reports::RunResult::pass});
    run.reset();
  });
  Output output;
  const auto followed = follow_with_lines({.journal = folder.path("j")}, output.file());
  ASSERT_TRUE(followed.has_value());
  EXPECT_EQ(verdict_of(followed->summary, false), reports::Verdict::pass);
  EXPECT_THAT(output.text(), HasSubstr("PASS  step.199"));
}

TEST(FollowLines, NoJournalIsAnError) {
  Output output;
  EXPECT_FALSE(follow_with_lines({.journal = "/nonexistent/journal"}, output.file()).has_value());
}

// A signalfd with a signal that is already pending, in the thread that asks for it.
class PendingSignal {
 public:
  explicit PendingSignal(int signal) {
    sigemptyset(&set_);
    sigaddset(&set_, signal);
    pthread_sigmask(SIG_BLOCK, &set_, &before_);
    fd_ = signalfd(-1, &set_, SFD_CLOEXEC);
    send(signal);
  }
  ~PendingSignal() {
    close(fd_);
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
  PendingSignal(const PendingSignal&) = delete;
  PendingSignal& operator=(const PendingSignal&) = delete;
  static void send(int signal) { pthread_kill(pthread_self(), signal); }
  int fd() const { return fd_; }

 private:
  sigset_t set_{};
  sigset_t before_{};
  int fd_ = -1;
};

TEST(FollowLines, ASignalLeavesWhereNobodyCanBeStopped) {
  TempFolder folder;
  const auto writer = write_run(folder.path("j"), RunMoment::running);
  const PendingSignal signal(SIGTERM);
  Output output;
  const auto followed =
      follow_with_lines({.journal = folder.path("j"), .signal_fd = signal.fd()}, output.file());
  ASSERT_TRUE(followed.has_value());
  EXPECT_TRUE(followed->interrupted);
}

TEST(FollowLines, ASignalStopsTheRunAndItsEndIsStillRead) {
  TempFolder folder;
  auto writer = write_run(folder.path("j"), RunMoment::running);
  const PendingSignal signal(SIGINT);
  Output output;
  int stopped = 0;
  const auto followed = follow_with_lines({.journal = folder.path("j"),
                                           .signal_fd = signal.fd(),
                                           .on_interrupt =
                                               [&] {
                                                 ++stopped;
                                                 writer->error("interrupted", "SIGINT");
                                                 writer->run_end({});
                                                 writer.reset();
                                               }},
                                          output.file());
  ASSERT_TRUE(followed.has_value());
  EXPECT_TRUE(followed->interrupted);
  EXPECT_EQ(stopped, 1);
  EXPECT_TRUE(followed->summary.ended);
  EXPECT_THAT(output.text(), HasSubstr("ERROR interrupted: SIGINT"));
}

TEST(FollowLines, TheSecondSignalLeavesAtOnce) {
  TempFolder folder;
  const auto writer = write_run(folder.path("j"), RunMoment::running);
  const PendingSignal signal(SIGINT);
  Output output;
  const auto followed = follow_with_lines({.journal = folder.path("j"),
                                           .signal_fd = signal.fd(),
                                           .on_interrupt = [] { PendingSignal::send(SIGINT); },
                                           .writer_done = [] { return false; }},
                                          output.file());
  ASSERT_TRUE(followed.has_value());
  EXPECT_TRUE(followed->interrupted);
}

}  // namespace
}  // namespace assay::tui
