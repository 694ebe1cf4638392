// The reference firmware as a process of its own: killed, it is a board that lost power.
#include <poll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

#include "firmware/device/host/flash_file.h"
#include "firmware/device/host/line.h"
#include "firmware/device/host/options.h"
#include "firmware/device/npu_firmware.h"

namespace {

using assay::firmware::device::NpuFirmware;
using assay::firmware::device::host::Line;

struct Process {
  Line* line;
  std::uint32_t boot_baud = 0;
  bool reset = false;
  std::uint64_t bytes_to_cut = UINT64_MAX;
};

void send(void* line, const std::uint8_t* bytes, std::size_t size) {
  static_cast<Line*>(line)->send(bytes, size);
}

std::uint32_t now_ms() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<std::uint32_t>(now.tv_sec * 1000 + now.tv_nsec / 1'000'000);
}

// Everything but the chip's file is lost, as when the power fails: the process starts anew.
[[noreturn]] void cut_power(char** argv) {
  std::vector<char*> again;
  for (char** argument = argv; *argument != nullptr; ++argument) {
    if (std::string_view(*argument) == "--cut-power-at") {
      ++argument;
    } else {
      again.push_back(*argument);
    }
  }
  again.push_back(nullptr);
  ::execv("/proc/self/exe", again.data());
  ::_exit(3);
}

// Until a reset: true; or the line's end: false.
bool serve(NpuFirmware* firmware, Process* process, char** argv) {
  constexpr int tick_ms = 50;
  firmware->boot();
  while (process->line->alive()) {
    pollfd input{STDIN_FILENO, POLLIN, 0};
    const int ready = ::poll(&input, 1, tick_ms);
    if (ready < 0 && errno != EINTR) return false;
    firmware->tick(now_ms());
    if (ready <= 0) continue;
    std::uint8_t bytes[2048];
    const ssize_t count = ::read(STDIN_FILENO, bytes, sizeof bytes);
    if (count < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    // End of file for a pipe; EIO when the other side of a pseudo-terminal is closed.
    if (count <= 0) return false;
    process->line->hear(bytes, static_cast<std::size_t>(count));
    for (ssize_t i = 0; i < count; ++i) {
      if (--process->bytes_to_cut == 0) cut_power(argv);
      firmware->receive(bytes[i], now_ms());
      if (process->reset) return true;
    }
  }
  return false;
}

}  // namespace

int main(int argc, char** argv) {
  namespace host = assay::firmware::device::host;
  host::Options options;
  std::string error;
  if (!host::parse_options(argc, argv, &options, &error)) {
    std::fprintf(stderr, "assay-npu-firmware: %s; see --help\n", error.c_str());
    return 2;
  }
  if (options.help) {
    std::fputs(host::usage_text, stdout);
    return 0;
  }
  // A virtual board that crashes must not leave its firmware behind.
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  std::signal(SIGPIPE, SIG_IGN);

  host::FlashFile flash;
  std::string path = options.flash;
  if (path.empty()) path = "/proc/self/fd/" + std::to_string(::memfd_create("flash", MFD_CLOEXEC));
  if (!flash.open(path, &error)) {
    std::fprintf(stderr, "assay-npu-firmware: %s\n", error.c_str());
    return 3;
  }
  Line line(STDOUT_FILENO, options.line_fault, options.baud);
  Process process{&line, options.baud};
  if (options.cut_power_at != 0) process.bytes_to_cut = options.cut_power_at;
  assay::firmware::device::BoardPort port{
      options.board.c_str(),
      options.serial.c_str(),
      options.version.c_str(),
      {&send, &line},
      flash.chip(),
      host::FlashFile::layout,
      &process,
      // A room's temperature: this chip does not heat.
      [](void*) { return std::int32_t{25'000}; },
      [](void* p) { static_cast<Process*>(p)->reset = true; },
      [](void* p, std::uint32_t baud) { static_cast<Process*>(p)->line->set_baud(baud); }};
  for (bool again = true; again;) {
    process.reset = false;
    line.set_baud(process.boot_baud);
    NpuFirmware firmware(port);
    again = serve(&firmware, &process, argv);
  }
  return 0;
}
