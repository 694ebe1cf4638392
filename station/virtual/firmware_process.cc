#include "station/virtual/firmware_process.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <termios.h>

#include <cerrno>
#include <filesystem>
#include <vector>

extern char** environ;

namespace assay::station {
namespace {

constexpr const char* program_name = "assay-npu-firmware";

std::string program_path() {
  std::error_code error;
  const auto self = std::filesystem::read_symlink("/proc/self/exe", error);
  return self.parent_path() / program_name;
}

Result<pid_t> spawn(const std::vector<std::string>& arguments, int fd) {
  std::vector<char*> argv;
  argv.reserve(arguments.size() + 1);
  for (const std::string& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  posix_spawn_file_actions_init(&actions);
  posix_spawnattr_init(&attributes);
  posix_spawn_file_actions_adddup2(&actions, fd, 0);
  posix_spawn_file_actions_adddup2(&actions, fd, 1);
  // This program blocks the signals that it takes through a descriptor; the firmware must not.
  sigset_t none;
  sigemptyset(&none);
  posix_spawnattr_setsigmask(&attributes, &none);
  // Its own group: a Ctrl-C meant for the run does not switch the board off in the middle.
  posix_spawnattr_setpgroup(&attributes, 0);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETPGROUP);
  pid_t pid = 0;
  const int error = posix_spawn(&pid, argv[0], &actions, &attributes, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  posix_spawnattr_destroy(&attributes);
  if (error != 0) return fail_errno(error, "cannot start the virtual board's firmware", argv[0]);
  return pid;
}

}  // namespace

Result<FirmwareProcess> FirmwareProcess::start(const Options& options) {
  UniqueFd master(posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC));
  char name[128];
  if (!master || grantpt(master.get()) != 0 || unlockpt(master.get()) != 0 ||
      ptsname_r(master.get(), name, sizeof name) != 0) {
    return fail_errno(errno, "cannot make a pseudo-terminal");
  }
  UniqueFd slave(::open(name, O_RDWR | O_NOCTTY | O_CLOEXEC));
  if (!slave) return fail_errno(errno, "cannot open the pseudo-terminal", name);
  termios settings{};
  if (tcgetattr(slave.get(), &settings) != 0) return fail_errno(errno, "cannot set up", name);
  cfmakeraw(&settings);
  // The firmware's own: what it says before anyone listens is not garbled.
  cfsetspeed(&settings, B115200);
  if (tcsetattr(slave.get(), TCSANOW, &settings) != 0)
    return fail_errno(errno, "cannot set up", name);

  std::vector<std::string> arguments = {program_path(), "--board",      options.board,
                                        "--serial",     options.serial, "--flash",
                                        options.chip,   "--baud",       "115200"};
  if (options.cut_power_at != 0) {
    arguments.emplace_back("--cut-power-at");
    arguments.push_back(std::to_string(options.cut_power_at));
  }
  if (!options.line_fault.empty()) {
    arguments.emplace_back("--line-fault");
    arguments.push_back(options.line_fault);
  }
  const auto pid = spawn(arguments, master.get());
  if (!pid) return std::unexpected(pid.error());
  return FirmwareProcess(*pid, std::move(slave), name);
}

FirmwareProcess::FirmwareProcess(FirmwareProcess&& other) noexcept
    : pid_(std::exchange(other.pid_, 0)),
      held_open_(std::move(other.held_open_)),
      port_(std::move(other.port_)) {}

FirmwareProcess::~FirmwareProcess() {
  if (pid_ <= 0) return;
  kill(pid_, SIGKILL);
  while (waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
  }
}

}  // namespace assay::station
