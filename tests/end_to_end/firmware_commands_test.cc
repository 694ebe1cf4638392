// assay fw, as a person uses it: on a virtual board, with images of their own.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include <csignal>
#include <fstream>
#include <map>

#include "base/fd.h"
#include "tests/end_to_end/run_files.h"
#include "tests/support/at_prompt.h"
#include "tests/support/program.h"
#include "tests/tui/pty_run.h"

namespace assay::test {
namespace {

using ::testing::HasSubstr;

class FirmwareCommands : public ::testing::Test {
 protected:
  std::string file(const std::string& name, const std::string& content) {
    std::ofstream(folder_ / name, std::ios::binary) << content;
    return folder_ / name;
  }
  // An image of that version around some payload.
  std::string image(const std::string& version, const std::string& board = "m6-mini",
                    const std::string& counter = "1") {
    const std::string raw = file("raw.bin", std::string(150'000, 'x') + version);
    const std::string path = folder_ / (board + "-" + version + ".bin");
    const Finished packed = assay({"fw", "pack", raw, "-o", path, "--board", board, "--version",
                                   version, "--security-counter", counter});
    EXPECT_EQ(packed.exit_code, 0) << packed.err;
    return path;
  }
  TemporaryFolder folder_;
};

int lines(const std::string& text) {
  return static_cast<int>(std::count(text.begin(), text.end(), '\n'));
}

TEST_F(FirmwareCommands, aNewImageIsFlashedAndTheReportSaysFromWhatToWhat) {
  const Finished run = assay({"fw", "flash", image("2.4.0"), "--virtual", "--json"});
  ASSERT_EQ(run.exit_code, 0) << run.out << run.err;
  const auto report = nlohmann::json::parse(run.out);
  const auto step = report["steps"][0];
  EXPECT_EQ(step["headline"], "2.3.1 -> 2.4.0");
  EXPECT_EQ(named(step["measurements"], "version_before")["value"], "2.3.1");
  EXPECT_EQ(named(step["measurements"], "version")["value"], "2.4.0");
  EXPECT_EQ(named(step["measurements"], "baud")["value"], 921600);
}

TEST_F(FirmwareCommands, theNameThatPeopleKnowTakesTheFlagThatTheyKnow) {
  const std::string known =
      std::filesystem::path(assay_argv({})[0]).parent_path() / "npu_flash_tool";
  const Finished run = Program({known, "--upgrade", image("2.4.0"), "--virtual"}).wait();
  EXPECT_EQ(run.exit_code, 0) << run.out << run.err;
  EXPECT_THAT(run.out, HasSubstr("2.3.1 -> 2.4.0"));
}

TEST_F(FirmwareCommands, whatIsNoImageForThisBoardIsRefusedInOneLineBeforeTheBoardIsAsked) {
  const std::string good = image("2.4.0");
  const std::string content = read_file(good);
  std::string flipped = content;
  flipped[100'000] ^= 1;
  const std::string huge = file("huge.bin", "A");
  ASSERT_EQ(truncate(huge.c_str(), off_t{2} << 30), 0);
  const std::string loop = folder_ / "loop.bin";
  std::filesystem::create_symlink("loop.bin", loop);
  const std::pair<std::string, const char*> cases[] = {
      {file("cut.bin", content.substr(0, 70'000)), "is cut off"},
      {image("2.4.0", "another-board"), "is for the board \"another-board\""},
      {file("flipped.bin", flipped), "is damaged"},
      {folder_.path(), "is a folder"},
      {file("empty.bin", ""), "is empty"},
      {huge, "bytes"},
      {file("text.bin", std::string(5000, 'a')), "is no firmware image"},
      {loop, "is a link that leads round to itself"},
      {folder_ / "missing.bin", "no such file"}};
  for (const auto& [path, reason] : cases) {
    // Silent: a board that was asked would take seconds, and end with another code.
    const Finished run = assay({"fw", "flash", path, "--virtual", "--fault", "fw-silent"});
    EXPECT_EQ(run.exit_code, 2) << path << run.out << run.err;
    EXPECT_EQ(lines(run.err), 1) << run.err;
    EXPECT_THAT(run.err, HasSubstr(reason));
    EXPECT_EQ(run.out, "");
  }
}

TEST_F(FirmwareCommands, packRefusesInOneLineWhatWouldMakeNoGoodImage) {
  const std::string content = read_file(image("2.4.0"));
  const std::string raw = file("raw.bin", "firmware");
  const std::string out = folder_ / "out.bin";
  struct Case {
    std::string payload;
    std::string output;
    std::string version;
    std::string counter;
    const char* reason;
  };
  const Case cases[] = {
      {file("whole.bin", content), out, "2.4.0", "1", "is a firmware image already"},
      {file("cut.bin", content.substr(0, 70'000)), out, "2.4.0", "1", "is cut off"},
      {file("header.bin", content.substr(0, 100)), out, "2.4.0", "1", "is cut off"},
      {raw, "", "2.4.0", "1", "the file to write has no name"},
      {raw, out, "01.2.3", "1", "expected a semantic version"},
      {raw, out, "2.4.0", "1e3", "--security-counter: expected a whole number"},
      {raw, out, "2.4.0", "-1", "--security-counter"},
      {raw, out, "2.4.0", "4294967296", "--security-counter: expected a whole number"},
  };
  for (const Case& c : cases) {
    const Finished run = assay({"fw", "pack", c.payload, "-o", c.output, "--board", "m6-mini",
                                "--version", c.version, "--security-counter", c.counter});
    EXPECT_EQ(run.exit_code, 2) << c.reason << run.out << run.err;
    EXPECT_EQ(lines(run.err), 1) << run.err;
    EXPECT_THAT(run.err, HasSubstr(c.reason));
    EXPECT_FALSE(std::filesystem::exists(out)) << c.reason;
  }
}

TEST_F(FirmwareCommands, theSecurityCounterIsDecimal) {
  const Finished shown = assay({"fw", "inspect", image("2.4.0", "m6-mini", "010"), "--json"});
  ASSERT_EQ(shown.exit_code, 0) << shown.err;
  EXPECT_EQ(nlohmann::json::parse(shown.out)["security_counter"], 10);
}

TEST_F(FirmwareCommands, aPlanThatOnlyFlashesStopsAtABoardThatWasNotScanned) {
  const std::string plan =
      file("plan.json", R"({ "schema": "assay/plan/1", "id": "flash", "steps": [
    { "id": "update", "use": "firmware.flash" }, { "id": "ask", "use": "firmware.query" } ] })");
  const Finished run = assay({"run", "--virtual", "--fault", "fw-old", "--fault", "serial-mismatch",
                              "--plan", plan, "--headless", "--out", folder_ / "out"});
  EXPECT_EQ(run.exit_code, 1) << run.out << run.err;
  const auto report = read_json(run_folder(folder_ / "out") / "report.json");
  EXPECT_THAT(codes(report["findings"]), ::testing::ElementsAre("SERIAL_MISMATCH"));
  const auto update = step_of(report, "update");
  EXPECT_TRUE(named(update["measurements"], "version").is_null());
  EXPECT_EQ(step_of(report, "ask")["verdict"], "PENDING");
  EXPECT_THAT(run.out, testing::Not(HasSubstr("->")));
}

using Answers = std::map<std::string, std::string>;

Finished flash_with(const std::string& image, const std::string& port) {
  return assay({"fw", "flash", image, "--board", "m6-mini", "--port", port, "--json"});
}

TEST_F(FirmwareCommands, aFirmwareThatDoesNotKnowAQuestionIsNotCalledGarbled) {
  const Answers all = {{"AT+NPUCFG?", "FW_VER:2.3.0\r\nOK\r\n"}};
  const std::string newer = image("2.4.0");
  for (const char* unknown : {"AT+STATUS?", "AT+NPUCFG?"}) {
    AtPrompt prompt([&](AtPrompt&, const std::string& command) -> std::string {
      const auto found = all.find(command);
      return command == unknown || found == all.end() ? "ERROR\r\n" : found->second;
    });
    const Finished run = flash_with(newer, prompt.path());
    EXPECT_EQ(run.exit_code, 3) << run.out << run.err;
    EXPECT_TRUE(codes(nlohmann::json::parse(run.out)["findings"]).empty()) << run.out;
    EXPECT_THAT(run.out, HasSubstr(std::string("does not know ") + unknown));
  }
}

// The board has half an image and its host no port: that is more than "could not test".
TEST_F(FirmwareCommands, aPortPulledOutInTheMiddleForGoodIsAnUpdateThatFailed) {
  const Answers answers = {{"AT+NPUCFG?", "FW_VER:2.3.0\r\nOK\r\n"},
                           {"AT+STATUS?", "STATUS:0,CONFIRMED,-\r\nOK\r\n"},
                           {"AT+TEMP?", "TEMP:40000\r\nOK\r\n"}};
  AtPrompt prompt([&](AtPrompt& board, const std::string& command) -> std::string {
    if (command == "AT+UPDATE") {
      board.say("OK\r\n");
      pollfd host{board.line(), POLLIN, 0};
      do {
        board.say("C");
      } while (::poll(&host, 1, 1000) == 0);
      board.take(3 + 128 + 2);  // the header
      board.say(
          "\x06"
          "C");
      board.take(3 + 1024 + 2);
      board.say("\x06");
      board.take(100);
      board.unplug();
      return "";
    }
    const auto found = answers.find(command);
    return found == answers.end() ? "ERROR\r\n" : found->second;
  });
  const Finished run = flash_with(image("2.4.0"), prompt.path());
  EXPECT_EQ(run.exit_code, 1) << run.out << run.err;
  const auto findings = nlohmann::json::parse(run.out)["findings"];
  ASSERT_THAT(codes(findings), ::testing::ElementsAre("FIRMWARE_UPDATE_FAILED"));
  EXPECT_THAT(findings[0]["evidence"].dump(), HasSubstr("1024 of 150261 bytes were acknowledged"));
  EXPECT_THAT(findings[0]["evidence"].dump(), HasSubstr("no such port"));
}

// Nothing stays behind: not the lock of the port, not the folder of a virtual board.
TEST_F(FirmwareCommands, whatIsStoppedBySignalsLeavesNothing) {
  for (const char* command : {"slots", "reset"}) {
    for (const int signal : {SIGINT, SIGTERM}) {
      AtPrompt silent([](AtPrompt&, const std::string&) { return ""; });
      const UniqueFd look(::open(silent.path().c_str(), O_RDWR | O_NOCTTY | O_CLOEXEC));
      ASSERT_TRUE(look);
      const auto held = [&] {
        int exclusive = 0;
        EXPECT_EQ(::ioctl(look.get(), TIOCGEXCL, &exclusive), 0);
        return exclusive != 0;
      };
      Program run(assay_argv({"fw", command, "--board", "m6-mini", "--port", silent.path()}));
      ASSERT_TRUE(eventually(60, held)) << command;
      run.kill(signal);
      const Finished done = run.wait();
      EXPECT_EQ(done.exit_code, 130) << command << signal << done.err;
      EXPECT_FALSE(held()) << command << signal;

      const std::string temporary = folder_ / "temporary";
      std::filesystem::create_directories(temporary);
      std::vector<std::string> argv = {"/usr/bin/env", "TMPDIR=" + temporary};
      for (auto& word : assay_argv({"fw", command, "--virtual", "--fault", "fw-silent"})) {
        argv.push_back(std::move(word));
      }
      Program on_virtual(argv);
      ASSERT_TRUE(eventually(60, [&] { return !std::filesystem::is_empty(temporary); }));
      on_virtual.kill(signal);
      const Finished ended = on_virtual.wait();
      EXPECT_EQ(ended.exit_code, 130) << command << signal << ended.err;
      EXPECT_TRUE(std::filesystem::is_empty(temporary)) << command << signal;
    }
  }
}

TEST_F(FirmwareCommands, anOlderImageNeedsTheFlag) {
  const std::string older = image("2.2.0");
  const Finished refused = assay({"fw", "flash", older, "--virtual"});
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_THAT(refused.out, HasSubstr("--allow-downgrade"));
  const Finished taken = assay({"fw", "flash", older, "--virtual", "--allow-downgrade", "--json"});
  // Below the profile's minimum: done, and not good enough.
  EXPECT_EQ(taken.exit_code, 1) << taken.err;
  EXPECT_EQ(nlohmann::json::parse(taken.out)["steps"][0]["headline"], "2.3.1 -> 2.2.0");
}

TEST_F(FirmwareCommands, aSignedImageIsInspectedWithItsKey) {
  const std::string unsigned_image = image("2.4.0");
  const std::string key = folder_ / "key.pem";
  ASSERT_EQ(Program({"/usr/bin/openssl", "genpkey", "-algorithm", "ed25519", "-out", key})
                .wait()
                .exit_code,
            0);
  ASSERT_EQ(
      Program({"/usr/bin/openssl", "pkey", "-in", key, "-pubout", "-out", folder_ / "public.pem"})
          .wait()
          .exit_code,
      0);
  const std::string signed_image = folder_ / "signed.bin";
  ASSERT_EQ(assay({"fw", "sign", unsigned_image, "--key", key, "-o", signed_image}).exit_code, 0);
  const Finished right =
      assay({"fw", "inspect", signed_image, "--key", folder_ / "public.pem", "--json"});
  ASSERT_EQ(right.exit_code, 0) << right.err;
  EXPECT_EQ(nlohmann::json::parse(right.out)["signature"], "right");
  EXPECT_EQ(assay({"fw", "inspect", unsigned_image, "--key", folder_ / "public.pem"}).exit_code, 2);
  // Not over a file that is there.
  EXPECT_EQ(assay({"fw", "sign", unsigned_image, "--key", key, "-o", signed_image}).exit_code, 2);
}

TEST_F(FirmwareCommands, aProfileWithAKeyTakesNoImageOfAnother) {
  const std::string key = folder_ / "key.pem";
  ASSERT_EQ(Program({"/usr/bin/openssl", "genpkey", "-algorithm", "ed25519", "-out", key})
                .wait()
                .exit_code,
            0);
  const std::string unsigned_image = image("2.4.0");
  const std::string signed_image = folder_ / "signed.bin";
  const Finished made = assay({"fw", "sign", unsigned_image, "--key", key, "-o", signed_image});
  ASSERT_EQ(made.exit_code, 0);
  const std::size_t at = made.out.find("MCowBQYDK2VwAyEA");
  ASSERT_NE(at, std::string::npos) << made.out;
  auto profile = nlohmann::json::parse(read_file(ASSAY_SOURCE "/boards/m6-mini.json"));
  profile["firmware"]["public_key"] = made.out.substr(at, 60);
  const std::string board = file("keyed.json", profile.dump());
  const Finished refused = assay({"fw", "flash", unsigned_image, "--virtual", "--board", board});
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_THAT(refused.err, HasSubstr("the image is not signed"));
  const Finished taken = assay({"fw", "flash", signed_image, "--virtual", "--board", board});
  EXPECT_EQ(taken.exit_code, 0) << taken.out << taken.err;
}

TEST_F(FirmwareCommands, slotsResetAndConsoleTalkToTheBoard) {
  const Finished slots = assay({"fw", "slots", "--virtual", "--json"});
  ASSERT_EQ(slots.exit_code, 0) << slots.err;
  const auto json = nlohmann::json::parse(slots.out);
  EXPECT_EQ(json["slots"][0]["version"], "2.3.1");
  EXPECT_EQ(json["slots"][0]["state"], "running");
  EXPECT_EQ(json["slots"][1]["state"], "empty");
  const Finished reset = assay({"fw", "reset", "--virtual"});
  EXPECT_EQ(reset.exit_code, 0) << reset.err;
  EXPECT_THAT(reset.out, HasSubstr("runs 2.3.1"));
  const Finished said =
      Program(
          {"/bin/sh", "-c", "printf 'AT+SN?\\r' | " + assay_argv({})[0] + " fw console --virtual"})
          .wait();
  EXPECT_EQ(said.exit_code, 0) << said.err;
  EXPECT_THAT(said.out, HasSubstr("SN:M6-2026-004417"));
  EXPECT_THAT(said.out, HasSubstr("NPU boot 2.3.1"));
}

TEST_F(FirmwareCommands, listSaysWhatThereIs) {
  const Finished list = assay({"fw", "list", "--json"});
  EXPECT_EQ(list.exit_code, 0) << list.err;
  EXPECT_TRUE(nlohmann::json::parse(list.out).is_array());
}

// Its terminal is raw: who is left with it sees no letter that he types.
TEST_F(FirmwareCommands, theConsoleLeavesTheTerminalAsItWasWhateverEndsIt) {
  for (const int signal : {SIGTERM, SIGHUP, 0}) {
    tui::PtyRun run(24, 80, [] {
      const std::string program = assay_argv({})[0];
      execl(program.c_str(), program.c_str(), "fw", "console", "--virtual", nullptr);
      return 127;
    });
    ASSERT_TRUE(run.wait_for("Ctrl-] leaves")) << run.output();
    EXPECT_FALSE(run.modes_as_before());
    if (signal == 0) {
      run.type("\x1d");
    } else {
      run.send(signal);
    }
    const int status = run.wait_for_end();
    EXPECT_TRUE(WIFEXITED(status)) << signal;
    EXPECT_EQ(WEXITSTATUS(status), signal == 0 ? 0 : 130) << signal;
    EXPECT_TRUE(run.modes_as_before()) << signal;
  }
}

}  // namespace
}  // namespace assay::test
