#include "tests/firmware/qemu_board.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <poll.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <utility>

#include "base/clock.h"
#include "firmware/device/qemu-virt/identification.h"
#include "firmware/device/qemu-virt/layout.h"

extern char** environ;

namespace assay::test {
namespace {

using firmware::device::qemu_virt::CfiFlash;
using firmware::device::qemu_virt::Identification;

// A busy machine takes a second; a hung one for ever.
constexpr std::int64_t boot_timeout_ns = 60 * ns_per_s;

Result<> write_at(int fd, const void* bytes, std::size_t size, off_t at, const std::string& path) {
  const ssize_t count = ::pwrite(fd, bytes, size, at);
  if (count == static_cast<ssize_t>(size)) return {};
  return fail_errno(count < 0 ? errno : ENOSPC, "cannot write", path);
}

// The binary, and nothing behind it: the file has a hole there.
Result<> make_code_chip(const std::string& path) {
  std::ifstream in(ASSAY_QEMU_FIRMWARE, std::ios::binary);
  const std::string code((std::istreambuf_iterator<char>(in)), {});
  if (!in || code.empty()) return fail(ErrorKind::io, "cannot read", ASSAY_QEMU_FIRMWARE);
  const UniqueFd file(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644));
  if (!file) return fail_errno(errno, "cannot make", path);
  if (auto wrote = write_at(file.get(), code.data(), code.size(), 0, path); !wrote) return wrote;
  if (::ftruncate(file.get(), CfiFlash::chip_bytes) != 0) return fail_errno(errno, "grow", path);
  return {};
}

Result<UniqueFd> open_data_chip(const std::string& path) {
  UniqueFd file(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644));
  struct stat info {};
  if (!file || ::fstat(file.get(), &info) != 0) return fail_errno(errno, "cannot open", path);
  if (::flock(file.get(), LOCK_EX | LOCK_NB) != 0) {
    return fail(ErrorKind::unavailable, "another board uses this chip", path);
  }
  if (info.st_size == 0) {
    const std::vector<std::uint8_t> erased(1 << 20, 0xFF);
    for (off_t at = 0; at < off_t{CfiFlash::chip_bytes}; at += erased.size()) {
      if (auto wrote = write_at(file.get(), erased.data(), erased.size(), at, path); !wrote) {
        return std::unexpected(wrote.error());
      }
    }
  } else if (info.st_size != CfiFlash::chip_bytes) {
    return fail(ErrorKind::bad_file, "has another size than the chip", path);
  }
  return file;
}

template <std::size_t size>
bool put(const std::string& text, char (&out)[size]) {
  if (text.empty() || text.size() >= size) return false;
  std::memcpy(out, text.c_str(), text.size() + 1);
  return true;
}

Result<> write_identity(const QemuBoardSettings& settings, int chip, const std::string& path) {
  namespace virt = firmware::device::qemu_virt;
  Identification identification;
  std::uint8_t bytes[virt::identification_bytes];
  std::uint8_t back[virt::identification_bytes];
  const bool fits = put(settings.board, identification.board) &&
                    put(settings.serial, identification.serial) &&
                    put(settings.rom_version, identification.rom_version);
  if (fits) virt::write_identification(identification, bytes);
  if (!fits || !virt::parse_identification(bytes, &identification)) {
    return fail(ErrorKind::usage, "the board's id, serial or ROM version is none");
  }
  if (::pread(chip, back, sizeof back, virt::identification_at) == sizeof back &&
      std::memcmp(back, bytes, sizeof back) == 0) {
    return {};
  }
  return write_at(chip, bytes, sizeof bytes, virt::identification_at, path);
}

// exec() wants arrays of pointers; the texts outlive them.
std::vector<char*> pointers(const std::vector<std::string>& texts) {
  std::vector<char*> all;
  for (const std::string& text : texts) all.push_back(const_cast<char*>(text.c_str()));
  all.push_back(nullptr);
  return all;
}

}  // namespace

Result<std::unique_ptr<QemuBoard>> QemuBoard::make(const std::string& folder,
                                                   const QemuBoardSettings& settings) {
  const std::string path = folder + "/flash1";
  auto chip = open_data_chip(path);
  if (!chip) return std::unexpected(chip.error());
  if (auto made = make_code_chip(folder + "/flash0"); !made) return std::unexpected(made.error());
  if (auto wrote = write_identity(settings, chip->get(), path); !wrote) {
    return std::unexpected(wrote.error());
  }
  auto bridge = SerialBridge::make(settings.baud);
  if (!bridge) return std::unexpected(bridge.error());
  return std::unique_ptr<QemuBoard>(
      new QemuBoard(folder, settings, std::move(*chip), std::move(*bridge)));
}

QemuBoard::QemuBoard(std::string folder, QemuBoardSettings settings, UniqueFd flash,
                     std::unique_ptr<SerialBridge> bridge)
    : folder_(std::move(folder)),
      settings_(std::move(settings)),
      flash_(std::move(flash)),
      bridge_(std::move(bridge)) {}

QemuBoard::~QemuBoard() {
  power_off();
}

std::vector<std::string> QemuBoard::command_line(int uart) const {
  return {ASSAY_QEMU_SYSTEM_AARCH64, "-M", "virt", "-cpu", "cortex-a53", "-m", "64",
          // KVM would want a host of the same kind; little code, little cache of it.
          "-accel", "tcg,tb-size=16", "-nodefaults", "-no-user-config", "-display", "none",
          "-drive", fmt::format("if=pflash,format=raw,unit=0,readonly=on,file={}/flash0", folder_),
          "-drive", fmt::format("if=pflash,format=raw,unit=1,file={}/flash1", folder_), "-chardev",
          fmt::format("socket,id=uart,fd={}", uart), "-serial", "chardev:uart"};
}

Result<> QemuBoard::power_on() {
  power_off();
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
    return fail_errno(errno, "socketpair");
  }
  UniqueFd ours(ends[0]);
  const UniqueFd theirs(ends[1]);
  const int flags = ::fcntl(ours.get(), F_GETFL);
  if (flags < 0 || ::fcntl(ours.get(), F_SETFL, flags | O_NONBLOCK) != 0) {
    return fail_errno(errno, "fcntl");
  }
  const UniqueFd log(
      ::open((folder_ + "/qemu.log").c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644));
  if (!log) return fail_errno(errno, "cannot make", folder_ + "/qemu.log");
  const std::vector<std::string> arguments = command_line(theirs.get());
  std::vector<std::string> variables = settings_.environment;
  for (char** variable = environ; *variable != nullptr; ++variable) variables.push_back(*variable);
  const std::vector<char*> argv = pointers(arguments);
  const std::vector<char*> envp = pointers(variables);

  const pid_t parent = ::getpid();
  const pid_t pid = ::fork();
  if (pid < 0) return fail_errno(errno, "fork");
  if (pid == 0) {
    // Nothing of a board is left when its harness dies.
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != parent) ::_exit(127);
    ::fcntl(theirs.get(), F_SETFD, 0);
    ::dup2(log.get(), STDOUT_FILENO);
    ::dup2(log.get(), STDERR_FILENO);
    ::execve(argv[0], argv.data(), envp.data());
    ::_exit(127);
  }
  pid_ = pid;
  bridge_->connect(std::move(ours));
  return {};
}

Result<> QemuBoard::wait_until_up() {
  if (bridge_->wait_for_board(monotonic_ns() + boot_timeout_ns)) return {};
  std::ifstream log(folder_ + "/qemu.log");
  std::string first;
  std::getline(log, first);
  return fail(ErrorKind::timeout, "the board did not come up: " + first, folder_);
}

void QemuBoard::cut() {
  if (pid_ > 0) ::kill(pid_, SIGKILL);
}

void QemuBoard::power_off() {
  cut();
  if (pid_ > 0) ::waitpid(pid_, nullptr, 0);
  pid_ = -1;
  bridge_->connect({});
}

bool QemuBoard::wait_until_dead(std::int64_t deadline_ns) {
  const UniqueFd process(static_cast<int>(::syscall(SYS_pidfd_open, pid_.load(), 0)));
  pollfd waits{process.get(), POLLIN, 0};
  const std::int64_t left = std::max<std::int64_t>(deadline_ns - monotonic_ns(), 0);
  return process && ::poll(&waits, 1, static_cast<int>(left / ns_per_ms)) == 1;
}

bool QemuBoard::sleeps() const {
  const std::string tasks = fmt::format("/proc/{}/task", pid_.load());
  std::error_code gone;
  for (const auto& task : std::filesystem::directory_iterator(tasks, gone)) {
    std::ifstream stat(task.path() / "stat");
    std::string text;
    std::getline(stat, text);
    // "number (name) state ..."; a name may hold parentheses.
    const std::size_t name_end = text.rfind(") ");
    if (name_end == std::string::npos || text[name_end + 2] == 'R') return false;
  }
  return !gone;
}

}  // namespace assay::test
