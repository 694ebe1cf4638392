// The update, with boards whose firmware is another than ours.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <map>

#include "firmware/update/board_client.h"
#include "firmware/update/board_link.h"
#include "firmware/update/updater.h"
#include "tests/base/scratch.h"
#include "tests/firmware/firmware_image.h"
#include "tests/support/at_prompt.h"

extern char** environ;

namespace assay::firmware {
namespace {

using test::AtPrompt;
using test::Scratch;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;

// lrzsz's receiver as the board's, in a folder of its own. Its exit code.
int receive_by(const std::vector<std::string>& command, int line, const Scratch& folder) {
  std::vector<char*> argv;
  for (const std::string& word : command) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, line, STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, line, STDOUT_FILENO);
  posix_spawn_file_actions_addchdir_np(&actions, folder.root().c_str());
  pid_t pid = -1;
  const int error = ::posix_spawnp(&pid, argv[0], &actions, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  int status = -1;
  if (error != 0 || ::waitpid(pid, &status, 0) != pid) return -1;
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

// Answers what it is asked about itself; AT+UPDATE runs lrzsz's receiver, and a reset boots what it
// has received.
class ForeignBoard {
 public:
  explicit ForeignBoard(std::string next_version, std::vector<std::string> receiver = {})
      : next_version_(std::move(next_version)),
        receiver_(std::move(receiver)),
        prompt_([this](AtPrompt& prompt, const std::string& command) {
          return answer(prompt, command);
        }) {}

  OpenPort opener() {
    return [this] { return open_transport(prompt_.path(), 115200); };
  }
  std::string received(const std::string& name) const { return folder_.content(name); }

  // Set before anyone asks.
  std::map<std::string, std::string> answers = {{"AT", "OK\r\n"},
                                                {"AT+NPUCFG?", "FW_VER:2.0.0\r\nOK\r\n"},
                                                {"AT+STATUS?", "STATUS:0,CONFIRMED,-\r\nOK\r\n"},
                                                {"AT+UPDATE?", "UPDATE:NONE\r\nOK\r\n"}};
  // Looked at when nobody asks any more.
  std::vector<std::string> asked;
  int transfers = 0;

 private:
  std::string answer(AtPrompt& prompt, const std::string& command) {
    asked.push_back(command);
    if (command == "AT+UPDATE") {
      ++transfers;
      prompt.say("OK\r\n");
      const bool whole = receive_by(receiver_, prompt.line(), folder_) == 0;
      answers["AT+UPDATE?"] = whole ? "UPDATE:OK\r\nOK\r\n" : "UPDATE:TRANSFER\r\nOK\r\n";
      return "";
    }
    if (command == "AT+RESET") {
      answers["AT+NPUCFG?"] = "FW_VER:" + next_version_ + "\r\nOK\r\n";
      answers["AT+STATUS?"] = "STATUS:1,TRIAL,-\r\nOK\r\n";
      return "OK\r\n";
    }
    if (command == "AT+CONFIRM") {
      answers["AT+STATUS?"] = "STATUS:1,CONFIRMED,-\r\nOK\r\n";
      return "OK\r\n";
    }
    const auto found = answers.find(command);
    return found == answers.end() ? "ERROR\r\n" : found->second;
  }

  const std::string next_version_;
  const std::vector<std::string> receiver_;
  Scratch folder_;
  AtPrompt prompt_;  // its thread ends first
};

FirmwareImage foreign_image(const std::string& version) {
  return *parse_image(test::firmware_image(version, 20'000, "board-a"), "test");
}

UpdateOptions for_board_a() {
  UpdateOptions options;
  options.image.board = "board-a";
  options.boot_timeout_ns = 20 * ns_per_s;
  return options;
}

// It acknowledges YMODEM's header as a block that it had before, and asks for nothing.
TEST(ForeignBoard, thatTakesNoBatchesIsSentTheImageByXmodem) {
  ForeignBoard board("2.3.1", {"rx", "-c", "-q", "npu.bin"});
  const auto image = foreign_image("2.3.1");
  const auto done = update_board(board.opener(), image, for_board_a());
  ASSERT_TRUE(done) << done.error().text();
  EXPECT_EQ(done->from, "2.0.0");
  EXPECT_EQ(done->to, "2.3.1");
  // By YMODEM, then by XMODEM.
  EXPECT_EQ(board.transfers, 2);
  // XMODEM knows no length: the last block is filled up.
  const std::string received = board.received("npu.bin");
  const std::size_t size = image.bytes.size();
  ASSERT_GE(received.size(), size);
  EXPECT_LT(received.size(), size + 1024);
  EXPECT_EQ(received.substr(0, size), std::string(image.bytes.begin(), image.bytes.end()));
  EXPECT_THAT(received.substr(size), Each('\x1A'));
}

TEST(ForeignBoard, thatTakesBatchesIsSentTheImageByteForByte) {
  ForeignBoard board("2.3.1", {"rb", "-y", "-q"});
  const auto image = foreign_image("2.3.1");
  const auto done = update_board(board.opener(), image, for_board_a());
  ASSERT_TRUE(done) << done.error().text();
  EXPECT_EQ(done->to, "2.3.1");
  EXPECT_EQ(board.transfers, 1);
  EXPECT_EQ(board.received("firmware.bin"), std::string(image.bytes.begin(), image.bytes.end()));
}

TEST(ForeignBoard, whoseFirmwareDoesNotKnowAQuestionIsToldAsThat) {
  const auto error_without = [](const char* command) {
    ForeignBoard board("2.3.1");
    board.answers.erase(command);
    const auto done = update_board(board.opener(), foreign_image("2.3.1"), for_board_a());
    EXPECT_FALSE(done);
    EXPECT_EQ(board.transfers, 0);
    return done.error();
  };
  for (const char* command : {"AT+STATUS?", "AT+NPUCFG?"}) {
    const Error error = error_without(command);
    EXPECT_EQ(error.kind, ErrorKind::unavailable) << command;
    EXPECT_THAT(error.what, HasSubstr(std::string("this firmware does not know ") + command));
  }
}

// A question that was damaged on its way gets ERROR as well.
TEST(ForeignBoard, isAskedOnceMoreBehindAnError) {
  int asked = 0;
  AtPrompt prompt([&](AtPrompt&, const std::string&) -> std::string {
    return ++asked == 1 ? "ERROR\r\n" : "STATUS:1,TRIAL,-\r\nOK\r\n";
  });
  const auto transport = open_transport(prompt.path(), 115200);
  ASSERT_TRUE(transport);
  AtClient client(**transport);
  const auto state = query_boot_state(client);
  ASSERT_TRUE(state) << state.error().text();
  EXPECT_TRUE(state->on_trial);
}

TEST(ForeignBoard, whatRunsIsToldAsTheBoardSaysIt) {
  ForeignBoard board("");
  board.answers["AT+NPUCFG?"] = "FW_VER:2.3.1\r\nOK\r\n";
  const auto done = update_board(board.opener(), foreign_image("2.3.1+b7"), for_board_a());
  ASSERT_TRUE(done) << done.error().text();
  EXPECT_TRUE(done->same_version);
  EXPECT_EQ(done->to, "2.3.1");
}

TEST(ForeignBoard, thatIsNotTheRightOneIsAskedNothingMore) {
  ForeignBoard board("2.3.1");
  auto options = for_board_a();
  // Older than what runs: a guard would refuse it too, later.
  board.answers["AT+NPUCFG?"] = "FW_VER:9.0.0\r\nOK\r\n";
  options.check_identity = [](AtClient& client, const AtOptions& at) -> Result<> {
    EXPECT_TRUE(client.command("AT", at));
    return fail(ErrorKind::usage, "another board");
  };
  const auto done = update_board(board.opener(), foreign_image("2.3.1"), options);
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().what, "another board");
  EXPECT_THAT(board.asked, ElementsAre("AT+NPUCFG?", "AT"));
}

TEST(ForeignBoard, thatIsSilentIsToldWithAllThatWasTried) {
  AtPrompt prompt([](AtPrompt&, const std::string&) { return ""; });
  const auto error_at = [&](std::vector<int> bauds) {
    BoardLink link([&] { return open_transport(prompt.path(), 115200); }, {.bauds = bauds});
    EXPECT_TRUE(link.open());
    const auto found = link.find();
    EXPECT_FALSE(found);
    EXPECT_EQ(found.error().kind, ErrorKind::timeout);
    return found.error().what;
  };
  EXPECT_EQ(error_at({115200}), "no answer to AT+NPUCFG? in 3 tries (0 bytes received)");
  EXPECT_EQ(error_at({115200, 921600}),
            "no answer to AT+NPUCFG? in 3 tries at each rate (0 bytes received)");
}

}  // namespace
}  // namespace assay::firmware
