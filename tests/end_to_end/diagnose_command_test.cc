// assay diagnose FILE, as a person types it.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <nlohmann/json.hpp>
#include <string>

#include "base/fd.h"
#include "tests/base/scratch.h"
#include "tests/support/program.h"
#include "tests/tui/pty_run.h"

namespace assay::test {
namespace {

using testing::HasSubstr;
using testing::MatchesRegex;

constexpr const char* timeouts =
    "[    0.000000] Linux version 6.1.21-v8+ (gcc) #1642\r\n"
    "[   12.345678] nvme nvme0: I/O 14 QID 2 timeout, aborting\r\n"
    "[   13.345678] nvme nvme0: I/O 15 QID 2 timeout, aborting\r\n";

// A named pipe that a program reads, and this end of it.
class NamedPipe {
 public:
  explicit NamedPipe(std::string path) : path_(std::move(path)) {
    EXPECT_EQ(mkfifo(path_.c_str(), 0600), 0);
  }
  const std::string& path() const { return path_; }
  // Waits for the reader.
  bool open() {
    return eventually(20, [&] {
      if (!fd_) fd_ = UniqueFd(::open(path_.c_str(), O_WRONLY | O_NONBLOCK | O_CLOEXEC));
      return static_cast<bool>(fd_);
    });
  }
  bool write(const std::string& text) {
    return ::write(fd_.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size());
  }
  // Waits until all that was written was read.
  bool drained() {
    return eventually(20, [&] {
      int left = -1;
      return ioctl(fd_.get(), FIONREAD, &left) == 0 && left == 0;
    });
  }

 private:
  std::string path_;
  UniqueFd fd_;
};

class DiagnoseCommand : public testing::Test {
 protected:
  static Finished diagnose(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "diagnose");
    return Program(assay_argv(std::move(arguments))).wait();
  }
  Finished in_shell(const std::string& command) {
    return Program({"/bin/sh", "-c", command}).wait();
  }
  Scratch scratch_;
};

TEST_F(DiagnoseCommand, tellsWhatASavedLogSays) {
  scratch_.write("kern.log", timeouts);
  const Finished text = diagnose({scratch_ / "kern.log"});
  EXPECT_EQ(text.exit_code, 1) << text.err;
  for (const char* part :
       {"FAIL  diagnose", "NVME_TIMEOUT\n", "  The drive nvme0 did not answer in time",
        "Seen 2 times, first at 12.345678 s after", "  Where     nvme0\n", "  Likely    ",
        "  Do        ", "  Evidence  line 2: ", "1 finding in 3 lines of ", "kernel 6.1.21-v8+"}) {
    EXPECT_THAT(text.out, HasSubstr(part));
  }
  EXPECT_EQ(text.err, "");

  const Finished json = diagnose({scratch_ / "kern.log", "--json"});
  EXPECT_EQ(json.exit_code, 1);
  const auto document = nlohmann::json::parse(json.out);
  EXPECT_EQ(document.at("schema"), "assay/diagnosis/1");
  EXPECT_EQ(document.at("whole"), true);
  EXPECT_EQ(document.at("lines"), 3);
  EXPECT_EQ(document.at("page_bytes_from"), "assumed");
  const auto found = document.at("findings").at(0);
  EXPECT_EQ(found.at("code"), "NVME_TIMEOUT");
  EXPECT_EQ(found.at("count"), 2);
  EXPECT_EQ(found.at("first"), "12.345678 s after the start");
  EXPECT_EQ(found.at("last"), "13.345678 s after the start");
  EXPECT_EQ(found.at("line"), 2);
  for (const char* list : {"evidence", "likely", "remedy"}) EXPECT_FALSE(found.at(list).empty());
}

TEST_F(DiagnoseCommand, readsStandardInputAndPipes) {
  scratch_.write("kern.log", timeouts);
  const std::string assay = assay_argv({}).front();
  const std::string log = scratch_ / "kern.log";
  const Finished piped = in_shell("cat " + log + " | " + assay + " diagnose -");
  EXPECT_EQ(piped.exit_code, 1) << piped.err;
  EXPECT_THAT(piped.out, HasSubstr("1 finding in 3 lines of standard input"));
  // Standard input is empty.
  const Finished empty = diagnose({"-"});
  EXPECT_EQ(empty.exit_code, 0);
  EXPECT_THAT(empty.out, HasSubstr("nothing found in 0 lines"));
}

TEST_F(DiagnoseCommand, aLogThatSaysNothingIsExitCodeZero) {
  scratch_.write("kern.log", "[    1.0] usb 1-1: new device\n" + std::string(10'000, 'x') + "\n");
  const Finished quiet = diagnose({scratch_ / "kern.log"});
  EXPECT_EQ(quiet.exit_code, 0);
  EXPECT_THAT(quiet.out, HasSubstr("nothing found in 2 lines"));
  EXPECT_THAT(quiet.out, HasSubstr("1 line was longer than 8192 bytes: read up to there"));
}

TEST_F(DiagnoseCommand, takesThePageSizeThatItIsGiven) {
  scratch_.write("kern.log", "cma: cma_alloc: x: alloc failed, req-size: 16 pages, ret: -12\n");
  EXPECT_THAT(diagnose({scratch_ / "kern.log"}).out, HasSubstr("16 pages of 4 KiB = 64 KiB"));
  const Finished given = diagnose({scratch_ / "kern.log", "--page-size", "64K"});
  EXPECT_THAT(given.out, HasSubstr("16 pages of 64 KiB = 1 MiB"));
}

TEST_F(DiagnoseCommand, whatItCannotReadIsOneLine) {
  scratch_.write("log.gz", "\x1F\x8B\x08 compressed");
  scratch_.write("system.journal", "LPKSHHRH journal");
  scratch_.write("log", timeouts);
  for (const std::vector<std::string>& wrong : {std::vector<std::string>{scratch_ / "none"},
                                                {scratch_ / ""},
                                                {"/dev/null"},
                                                {scratch_ / "log.gz"},
                                                {scratch_ / "system.journal"},
                                                {scratch_ / "log", "--page-size", "3K"},
                                                {scratch_ / "log", "--page-size", "2M"},
                                                {scratch_ / "log", "--page-size", "x"},
                                                {scratch_ / "log", "--virtual"},
                                                {"--page-size", "4K"},
                                                {scratch_ / "log", scratch_ / "log"}}) {
    const Finished refused = diagnose(wrong);
    EXPECT_EQ(refused.exit_code, 2) << wrong.front() << refused.err;
    EXPECT_EQ(refused.out, "");
    EXPECT_THAT(refused.err, MatchesRegex("[^\n]+\n")) << wrong.front();
  }
  EXPECT_THAT(diagnose({scratch_ / "log.gz"}).err, HasSubstr("zcat FILE | assay diagnose -"));
}

TEST_F(DiagnoseCommand, withoutAFileItIsAStepOverTheBoardsLog) {
  const Finished step = diagnose({"--virtual"});
  EXPECT_EQ(step.exit_code, 0) << step.out << step.err;
  EXPECT_THAT(step.out, HasSubstr("PASS  log.diagnose"));
}

// Ctrl-C: what was found up to there is told.
TEST_F(DiagnoseCommand, aSignalEndsTheReading) {
  NamedPipe pipe(scratch_ / "pipe");
  Program program(assay_argv({"diagnose", pipe.path()}));
  ASSERT_TRUE(pipe.open());
  ASSERT_TRUE(pipe.write(timeouts));
  ASSERT_TRUE(pipe.drained());
  program.kill(SIGINT);
  const Finished stopped = program.wait();
  EXPECT_EQ(stopped.exit_code, 130);
  EXPECT_THAT(stopped.out, HasSubstr("NVME_TIMEOUT"));
  EXPECT_THAT(stopped.out, HasSubstr("and then it was stopped"));
}

TEST_F(DiagnoseCommand, tellsItsProgressOnATerminal) {
  NamedPipe pipe(scratch_ / "pipe");
  const std::vector<std::string> words = assay_argv({"diagnose", pipe.path()});
  tui::PtyRun terminal(24, 120, [&] {
    std::vector<char*> argv;
    for (const std::string& word : words) argv.push_back(const_cast<char*>(word.c_str()));
    argv.push_back(nullptr);
    execv(argv[0], argv.data());
    return 127;
  });
  ASSERT_TRUE(pipe.open());
  const bool told = eventually(20, [&] {
    EXPECT_TRUE(pipe.write(timeouts));
    terminal.wait_briefly();
    return terminal.output().find("/s") != std::string::npos;
  });
  EXPECT_TRUE(told) << terminal.output();
  terminal.send(SIGINT);
  EXPECT_TRUE(WIFEXITED(terminal.wait_for_end()));
  EXPECT_THAT(terminal.output(), HasSubstr("NVME_TIMEOUT"));
}

}  // namespace
}  // namespace assay::test
