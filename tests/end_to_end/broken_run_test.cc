// Runs that do not reach their end, and what is asked for wrongly: never a pass.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>

#include "tests/end_to_end/run_files.h"
#include "tests/support/program.h"

namespace assay::test {
namespace {

using ::testing::HasSubstr;
using ::testing::MatchesRegex;

std::vector<std::string> run_arguments(const std::filesystem::path& out, const std::string& plan) {
  return assay_argv({"run", "--virtual", "--plan", plan, "--headless", "--out", out});
}

bool journal_has(const std::filesystem::path& out, const std::string& text) {
  const auto folder = run_folder(out);
  return !folder.empty() && read_file(folder / "journal.jsonl").find(text) != std::string::npos;
}

// Long enough that it is in its memory step when something happens to it.
std::string long_plan(const TemporaryFolder& folder) {
  const std::string path = folder / "long.json";
  write_file(path, R"({ "schema": "assay/plan/1", "id": "long", "steps": [
    { "id": "memory.pattern", "use": "memory.test",
      "with": { "tests": ["0xAAAAAAAA"], "size": "64MiB", "iterations": 1000000 },
      "limits": { "errors": { "equal": 0 } } } ] })");
  return path;
}

TEST(BrokenRun, killedInTheMiddleReadsAborted) {
  const TemporaryFolder work;
  Program run(run_arguments(work / "out", long_plan(work)));
  ASSERT_TRUE(eventually(60, [&] { return journal_has(work / "out", "assay.progress"); }));
  run.kill(SIGKILL);
  EXPECT_EQ(run.wait().exit_code, 128 + SIGKILL);

  const auto folder = run_folder(work / "out");
  EXPECT_FALSE(std::filesystem::exists(folder / "report.json"));
  const Finished report = assay({"report", folder / "journal.jsonl"});
  EXPECT_EQ(report.exit_code, 0);
  const auto json = nlohmann::json::parse(report.out);
  EXPECT_EQ(json["verdict"], "ABORTED");
  EXPECT_THAT(json["reason"].get<std::string>(), HasSubstr("memory.pattern"));
  const Finished watched = assay({"watch", folder / "journal.jsonl"});
  EXPECT_EQ(watched.exit_code, 130);
  EXPECT_THAT(watched.out, HasSubstr("ABORTED"));
}

TEST(BrokenRun, theNextRunClearsAwayWhatAKilledOneLeft) {
  const TemporaryFolder work;
  setenv("TMPDIR", work.path().c_str(), 1);
  const auto boards = [&] {
    int found = 0;
    for (const auto& entry : std::filesystem::directory_iterator(work.path())) {
      found += entry.path().filename().string().starts_with("assay-virtual-") ? 1 : 0;
    }
    return found;
  };
  Program killed(run_arguments(work / "out", long_plan(work)));
  Program living(run_arguments(work / "living", long_plan(work)));
  EXPECT_TRUE(eventually(60, [&] { return journal_has(work / "out", "assay.progress"); }));
  EXPECT_TRUE(eventually(60, [&] { return journal_has(work / "living", "assay.progress"); }));
  killed.kill(SIGKILL);
  killed.wait();
  EXPECT_EQ(boards(), 2);
  EXPECT_EQ(assay({"fw", "query", "--virtual"}).exit_code, 0);
  EXPECT_EQ(boards(), 1);
  living.kill(SIGINT);
  EXPECT_EQ(living.wait().exit_code, 130);
  EXPECT_EQ(boards(), 0);
  unsetenv("TMPDIR");
}

TEST(BrokenRun, aJournalCutAtAnyByteNeverPasses) {
  const TemporaryFolder work;
  const Finished run =
      Program(run_arguments(work / "out", ASSAY_SOURCE "/tests/data/plan-small.json")).wait();
  ASSERT_EQ(run.exit_code, 0) << run.out << run.err;
  const std::string whole = read_file(run_folder(work / "out") / "journal.jsonl");
  // Every byte of the last three lines, and some hundred places before.
  std::vector<std::size_t> cuts;
  for (std::size_t cut = whole.size() - 600; cut < whole.size(); cut += 25) cuts.push_back(cut);
  cuts.push_back(whole.size() - 1);
  for (std::size_t cut = 0; cut < whole.size() - 600; cut += whole.size() / 20) cuts.push_back(cut);
  for (const std::size_t cut : cuts) {
    write_file(work / "cut.jsonl", whole.substr(0, cut));
    const Finished report = assay({"report", work / "cut.jsonl"});
    if (report.exit_code == 0) {
      EXPECT_EQ(nlohmann::json::parse(report.out)["verdict"], "ABORTED") << cut;
    } else {
      EXPECT_EQ(report.exit_code, 2) << cut << report.err;
    }
  }
}

TEST(BrokenRun, interruptedEndsInOrderWithExitCode130) {
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    const TemporaryFolder work;
    Program run(run_arguments(work / "out", long_plan(work)));
    ASSERT_TRUE(eventually(60, [&] { return journal_has(work / "out", "assay.progress"); }));
    run.kill(signal);
    const Finished done = run.wait();
    ASSERT_EQ(done.exit_code, 130) << done.out << done.err;
    const auto report = read_json(run_folder(work / "out") / "report.json");
    EXPECT_EQ(report["verdict"], "ABORTED");
    EXPECT_EQ(report["journal"]["ended"], true);
  }
}

TEST(BrokenRun, thisMachineWithoutTheBoardsPartsIsIncomplete) {
  const TemporaryFolder work;
  const Finished run = assay({"run", "--board", "generic-linux", "--plan",
                              ASSAY_SOURCE "/tests/data/plan-small.json", "--headless", "--serial",
                              "bench-1", "--out", work / "out"});
  EXPECT_EQ(run.exit_code, 3) << run.out << run.err;
  const auto report = read_json(run_folder(work / "out") / "report.json");
  EXPECT_EQ(report["verdict"], "INCOMPLETE");
  const auto uart = step_of(report, "firmware.query");
  EXPECT_EQ(uart["verdict"], "SKIP");
  EXPECT_THAT(uart["skip_reason"].get<std::string>(), HasSubstr("UART"));
  EXPECT_EQ(step_of(report, "memory.pattern")["verdict"], "PASS");
  EXPECT_EQ(step_of(report, "memory.fragmentation")["verdict"], "PASS");
  EXPECT_EQ(step_of(report, "workload.dense")["verdict"], "PASS");
}

TEST(BrokenRun, watchFollowsARunOfAnotherProcessToItsEnd) {
  const TemporaryFolder work;
  Program run(run_arguments(work / "out", ASSAY_SOURCE "/tests/data/plan-small.json"));
  ASSERT_TRUE(eventually(60, [&] { return journal_has(work / "out", "testRunStart"); }));
  const Finished watched = assay({"watch", run_folder(work / "out") / "journal.jsonl"});
  EXPECT_EQ(run.wait().exit_code, 0);
  EXPECT_EQ(watched.exit_code, 0) << watched.out << watched.err;
  EXPECT_THAT(watched.out, HasSubstr("workload.dense"));
  const std::string last = watched.out.substr(watched.out.rfind('\n', watched.out.size() - 2) + 1);
  EXPECT_TRUE(last.starts_with("PASS")) << last;
}

TEST(BrokenRun, outputThatCannotBeWrittenIsNoSuccessAndLeavesTheRunsFiles) {
  const TemporaryFolder work;
  const auto with_full_output = [](std::string command) {
    command += " > /dev/full";
    return Program({"/bin/sh", "-c", command}).wait();
  };
  const std::string program = assay_argv({})[0];
  EXPECT_EQ(with_full_output(program + " frag --json").exit_code, 3);
  EXPECT_EQ(with_full_output(program + " boards list").exit_code, 3);
  const Finished run = with_full_output(program + " run --virtual --headless --plan " +
                                        long_plan(work) + " --out " + (work / "out").string());
  EXPECT_EQ(run.exit_code, 3) << run.err;
  EXPECT_EQ(read_json(run_folder(work / "out") / "report.json")["verdict"], "ABORTED");
}

TEST(BrokenRun, closedDescriptorsAreNotMistakenForTheJournal) {
  const TemporaryFolder work;
  const std::string plan = ASSAY_SOURCE "/tests/data/plan-small.json";
  const std::string program = assay_argv({})[0];
  const auto with = [&](const std::string& closed, const std::string& out) {
    return Program({"/bin/sh", "-c",
                    "exec " + program + " run --virtual --headless --plan " + plan + " --out " +
                        (work / out).string() + " " + closed})
        .wait();
  };
  EXPECT_EQ(with("<&-", "in").exit_code, 0);
  EXPECT_EQ(with("<&- 2>&-", "err").exit_code, 0);
  // What the run said could not be seen.
  EXPECT_EQ(with("<&- >&- 2>&-", "all").exit_code, 3);
  for (const char* out : {"in", "err", "all"}) {
    for (const auto& line : read_journal(run_folder(work / out) / "journal.jsonl")) {
      EXPECT_TRUE(line.is_object()) << out;
    }
    EXPECT_EQ(read_json(run_folder(work / out) / "report.json")["journal"]["damage"], "") << out;
  }
}

TEST(WrongUse, aFileThatNeverEndsOrIsNoFileIsRefusedAtOnce) {
  const TemporaryFolder work;
  const std::string fifo = work / "fifo.json";
  ASSERT_EQ(mkfifo(fifo.c_str(), 0600), 0);
  for (const std::string& path : {fifo, std::string("/dev/zero"), work.path().string() + "/"}) {
    for (const std::vector<std::string>& command :
         std::vector<std::vector<std::string>>{{"boards", "validate", path},
                                               {"plans", "validate", path},
                                               {"report", path},
                                               {"watch", path},
                                               {"run", "--virtual", "--plan", path},
                                               {"run", "--virtual", "--board", path}}) {
      if (path == "/dev/zero" && command[0] == "run") continue;
      const Finished run = assay(command);
      EXPECT_EQ(run.exit_code, 2) << command[0] << " " << path << run.err;
      EXPECT_THAT(run.err, MatchesRegex("assay: [^\n]*: is (not a regular file|a folder)[^\n]*\n"));
    }
  }
}

TEST(WrongUse, whatIsNoJournalIsToldBySaysReportAndWatchAlike) {
  const TemporaryFolder work;
  for (const std::string& content :
       {std::string(), std::string("\0\0\0\0", 4), std::string("hello\n"),
        std::string("{\"a\": \"\x1b[2J\"}\n"), std::string("{\"\\u001b[2J\": 1}\n")}) {
    write_file(work / "other", content);
    const Finished report = assay({"report", work / "other"});
    const Finished watch = assay({"watch", work / "other"});
    for (const Finished& run : {report, watch}) {
      EXPECT_EQ(run.exit_code, 2) << content << run.out;
      EXPECT_THAT(run.err, MatchesRegex("assay: [^\n]*other: is (empty|not a journal)[^\n]*\n"));
      EXPECT_EQ((run.out + run.err).find('\x1b'), std::string::npos);
    }
    EXPECT_EQ(report.err, watch.err);
  }
}

TEST(WrongUse, helpThatCannotBeWrittenIsNoSuccess) {
  for (const char* arguments : {" --help", " --version", " run --help"}) {
    EXPECT_EQ(
        Program({"/bin/sh", "-c", assay_argv({})[0] + arguments + " > /dev/full"}).wait().exit_code,
        3);
  }
}

TEST(WrongUse, aSerialPatternThatTakesForeverElsewhereIsMatchedAtOnce) {
  const TemporaryFolder work;
  write_file(work / "board.json", R"({ "schema": "assay/board/1", "id": "b", "name": "B",
                                       "serial_pattern": "^(a+)+$" })");
  const Finished run = assay({"run", "--board", work / "board.json", "--serial",
                              std::string(100, 'a') + "!", "--out", work / "out"});
  EXPECT_EQ(run.exit_code, 2);
  EXPECT_THAT(run.err, HasSubstr("is not a serial number of B"));
}

TEST(WrongUse, aProfileOfOnesOwnStandsForTheVirtualBoardThatItNames) {
  const TemporaryFolder work;
  auto profile = read_json(ASSAY_SOURCE "/boards/m6-mini.json");
  profile["name"] = "my own";
  write_file(work / "mine.json", profile.dump());
  const Finished run = assay({"fw", "query", "--virtual", "--board", work / "mine.json", "--json"});
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_EQ(nlohmann::json::parse(run.out)["board"]["name"], "my own") << run.out.substr(0, 600);
  profile["id"] = "other";
  write_file(work / "mine.json", profile.dump());
  const Finished none = assay({"fw", "query", "--virtual", "--board", work / "mine.json"});
  EXPECT_EQ(none.exit_code, 2);
  EXPECT_THAT(none.err, HasSubstr("no virtual board for \"other\"; there are: m6-mini"));
}

TEST(BrokenRun, noFolderForTemporaryFilesIsAClearError) {
  for (const char* command : {" frag", " fw query --virtual"}) {
    const Finished run =
        Program({"/bin/sh", "-c", "TMPDIR=/nonexistent " + assay_argv({})[0] + command}).wait();
    EXPECT_EQ(run.exit_code, 3);
    EXPECT_THAT(run.err, MatchesRegex("assay: /nonexistent/assay-[^\n]*: cannot make [^\n]*\n"));
  }
  EXPECT_FALSE(std::filesystem::exists("/journal.jsonl"));
}

TEST(WrongUse, moreMemoryThanThereIsSaysWhatCanBeHad) {
  const Finished run = assay({"mem", "--pattern", "0xAAAAAAAA", "--size", "64T", "--iter", "1"});
  EXPECT_EQ(run.exit_code, 2);
  EXPECT_THAT(run.err, MatchesRegex("assay: --size: 65536.0 GiB asked for; this machine "
                                    "can spare [0-9.]+ [GM]iB now; .*available.*\n"));
}

TEST(WrongUse, oneClearLineAndExitCode2) {
  const TemporaryFolder work;
  const struct {
    std::vector<std::string> arguments;
    const char* says;
  } cases[] = {
      {{"run", "--board", "no-such-board"}, "no board \"no-such-board\".*generic-linux, .*m6-mini"},
      {{"run", "--virtual", "--plan", "no-such-plan"}, "no plan \"no-such-plan\".*quick"},
      {{"run", "--virtual", "--fault", "no-such-fault"}, "no fault \"no-such-fault\".*pcie-x1"},
      {{"run", "--board", "generic-linux", "--fault", "pcie-x1"}, "only a virtual board"},
      {{"run", "--virtual", "--serial", "XYZ", "--out", work / "out"}, "\"XYZ\" is not a serial"},
      {{"run", "--board", "m6-mini", "--out", work / "out"}, "does not know its serial"},
      {{"mem", "--pattern", "AAAA", "--size", "1M"},
       "--pattern: no memory test \"AAAA\"; there are: a pattern"},
      {{"mem", "--pattern=0xZZ"}, "--pattern: \"0xZZ\" is not a pattern"},
      {{"mem", "--tests", "0xAAA"}, "--tests: \"0xAAA\" is not a pattern"},
      {{"mem", "--size", "0%"}, "--size: expected a share from 1% to 100%"},
      {{"mem", "--time", "soon"}, "--time: "},
      {{"mem", "--size", "lots"}, "--size: \"lots\" is not a size"},
      {{"mem", "--size", "1M", "--iter", "x"}, "--iter: \"x\" is not a whole number"},
      {{"mem", "--size", "1M", "--seed", "99999999999999999"}, "--seed: .* from 1 to 10+"},
      {{"mem", "--pattern=", "--size=1M"}, "--pattern=: a value is missing"},
      {{"mem", "--tests", "march-c-,,random"}, "--tests: \"march-c-,,random\" has an empty name"},
      {{"mem", "--size", "1M", "extra"}, "not expected: extra; see assay mem --help"},
      {{"mem", "--bogus"}, "not expected: --bogus; see assay mem --help"},
      {{"bogus"}, "no command bogus; see assay --help"},
      {{"fw", "bogus"}, "no command bogus; see assay fw --help"},
      {{}, "subcommand is required; see assay --help"},
      {{"workload", "--model", "gpt-9"}, "--model: no model \"gpt-9\""},
      {{"workload", "--prompt-tokens", "9999999"}, "--prompt-tokens: context length overflow"},
      {{"report", work / "missing.jsonl"}, "missing.jsonl: no such file"},
      {{"report", work.path()}, "is a folder"},
      {{"boards", "show", "x"}, "no board \"x\""},
  };
  for (const auto& c : cases) {
    const Finished run = assay(c.arguments);
    EXPECT_EQ(run.exit_code, 2) << c.says << run.err;
    EXPECT_THAT(run.err, MatchesRegex("assay: [^\n]*" + std::string(c.says) + "[^\n]*\n"));
    EXPECT_EQ(run.out, "");
  }
  EXPECT_FALSE(std::filesystem::exists(work / "out"));
}

TEST(WrongUse, aBadPlanOrProfileIsRefusedWithItsPlace) {
  const TemporaryFolder work;
  write_file(work / "plan.json",
             "{ \"schema\": \"assay/plan/1\", \"id\": \"x\",\n"
             "  \"steps\": [ { \"id\": \"a\", \"use\": \"pcie.link\",\n"
             "    \"tiemout\": \"30s\" } ] }\n");
  const Finished plan = assay({"plans", "validate", work / "plan.json"});
  EXPECT_EQ(plan.exit_code, 2);
  EXPECT_THAT(plan.err, HasSubstr("plan.json:3:5: unknown key \"tiemout\": expected one of "));
  const Finished run = assay({"run", "--virtual", "--plan", work / "plan.json"});
  EXPECT_EQ(run.exit_code, 2);
  EXPECT_EQ(run.err, plan.err);
  write_file(work / "board.json", "{ \"schema\": \"assay/board/1\", \"id\": 7 }");
  const Finished board = assay({"boards", "validate", work / "board.json"});
  EXPECT_EQ(board.exit_code, 2);
  EXPECT_THAT(board.err, HasSubstr("board.json:1:30: \"id\": expected text, found number 7"));
}

TEST(WrongUse, everyCommandHasHelpWithAnExample) {
  for (const char* command : {"run", "watch", "report", "boards", "plans", "mem", "pcie", "thermal",
                              "frag", "fw", "workload"}) {
    const Finished help = assay({command, "--help"});
    EXPECT_EQ(help.exit_code, 0) << command;
    EXPECT_THAT(help.out, HasSubstr(std::string("assay ") + command)) << command;
  }
}

TEST(WrongUse, everyUsbCommandHasHelpWithAnExample) {
  for (const char* command : {"list", "flash"}) {
    const Finished help = assay({"usb", command, "--help"});
    EXPECT_EQ(help.exit_code, 0) << command;
    EXPECT_THAT(help.out, HasSubstr(std::string("\n  assay usb ") + command)) << command;
  }
}

TEST(WrongUse, everyFirmwareCommandHasHelpWithAnExample) {
  for (const char* command :
       {"list", "query", "slots", "flash", "reset", "inspect", "pack", "sign", "console"}) {
    const Finished help = assay({"fw", command, "--help"});
    EXPECT_EQ(help.exit_code, 0) << command;
    EXPECT_THAT(help.out, HasSubstr(std::string("\n  assay fw ") + command)) << command;
  }
}

TEST(BrokenRun, aFolderThatCannotBeWrittenIsNoVerdict) {
  const TemporaryFolder work;
  write_file(work / "file", "in the way");
  const Finished run = assay({"run", "--virtual", "--headless", "--out", work / "file/out"});
  EXPECT_EQ(run.exit_code, 3);
  EXPECT_THAT(run.err, HasSubstr("cannot create folder"));
}

}  // namespace
}  // namespace assay::test
