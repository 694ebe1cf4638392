#include "tests/firmware/pseudo_terminal.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <termios.h>

#include <csignal>
#include <cstdlib>

extern char** environ;

namespace assay::firmware {

pid_t spawn_firmware(const std::vector<std::string>& arguments, int input, int output) {
  std::vector<char*> argv{const_cast<char*>(ASSAY_NPU_FIRMWARE)};
  for (const std::string& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, input, STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
  pid_t pid = -1;
  EXPECT_EQ(::posix_spawn(&pid, ASSAY_NPU_FIRMWARE, &actions, nullptr, argv.data(), environ), 0);
  posix_spawn_file_actions_destroy(&actions);
  return pid;
}

PseudoTerminal::PseudoTerminal() : master(::posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC)) {
  EXPECT_TRUE(master);
  EXPECT_EQ(::grantpt(master.get()), 0);
  EXPECT_EQ(::unlockpt(master.get()), 0);
  char name[64] = "";
  EXPECT_EQ(::ptsname_r(master.get(), name, sizeof name), 0);
  path = name;
  slave = UniqueFd(::open(name, O_RDWR | O_NOCTTY | O_CLOEXEC));
  EXPECT_TRUE(slave);
}

FirmwareProcess::FirmwareProcess(std::vector<std::string> arguments) {
  // Before the first byte: a terminal that echoes would feed the firmware its own boot messages.
  termios settings{};
  ::tcgetattr(terminal_.slave.get(), &settings);
  ::cfmakeraw(&settings);
  ::tcsetattr(terminal_.slave.get(), TCSANOW, &settings);
  pid_ = spawn_firmware(arguments, terminal_.master.get(), terminal_.master.get());
  terminal_.master.reset();
}

bool FirmwareProcess::wait_for_output() {
  pollfd port{terminal_.slave.get(), POLLIN, 0};
  return ::poll(&port, 1, 60'000) == 1 && (port.revents & POLLIN) != 0;
}

void FirmwareProcess::stop() {
  ::kill(pid_, SIGSTOP);
  int status = 0;
  EXPECT_EQ(::waitpid(pid_, &status, WUNTRACED), pid_);
  EXPECT_TRUE(WIFSTOPPED(status));
}

void FirmwareProcess::kill() {
  if (pid_ < 0) return;
  ::kill(pid_, SIGKILL);
  ::waitpid(pid_, nullptr, 0);
  pid_ = -1;
}

Outcome run_firmware(const std::vector<std::string>& arguments, const std::string& input) {
  int to[2];
  int from[2];
  EXPECT_EQ(::pipe2(to, O_CLOEXEC), 0);
  EXPECT_EQ(::pipe2(from, O_CLOEXEC), 0);
  const pid_t pid = spawn_firmware(arguments, to[0], from[1]);
  UniqueFd(to[0]).reset();
  UniqueFd(from[1]).reset();
  const UniqueFd reader(from[0]);
  UniqueFd writer(to[1]);
  // Small enough for the pipe to take at once.
  EXPECT_EQ(::write(writer.get(), input.data(), input.size()), static_cast<ssize_t>(input.size()));
  writer.reset();
  Outcome run{};
  char buffer[512];
  for (ssize_t n = 0; (n = ::read(reader.get(), buffer, sizeof buffer)) > 0;) {
    run.output.append(buffer, static_cast<std::size_t>(n));
  }
  int status = 0;
  ::waitpid(pid, &status, 0);
  run.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  return run;
}

}  // namespace assay::firmware
