// The bare-metal firmware in a QEMU of its own, as a program whose standard input and output are
// its serial line: the far end of the guest's adapter. Killed, the board has lost its power; its
// chips stay in the current folder.
//
// usage: qemu_far_end BOARD ROM_VERSION
#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <cstdio>

#include "tests/firmware/qemu_board.h"

namespace assay {
namespace {

// What stands ready at `from`, to `to`. False at the end of either.
bool pass(int from, int to) {
  std::array<std::uint8_t, 4096> bytes;
  const ssize_t count = read(from, bytes.data(), bytes.size());
  if (count < 0 && (errno == EINTR || errno == EAGAIN)) return true;
  for (ssize_t at = 0; at < count;) {
    const ssize_t written = write(to, bytes.data() + at, static_cast<std::size_t>(count - at));
    if (written < 0 && errno != EINTR) return false;
    if (written > 0) at += written;
  }
  return count > 0;
}

Result<> run(const std::string& board_id, const std::string& rom_version) {
  auto board = test::QemuBoard::make(".", {.board = board_id, .rom_version = rom_version});
  if (!board) return std::unexpected(board.error());
  const UniqueFd port(open((*board)->port().c_str(), O_RDWR | O_NOCTTY | O_CLOEXEC));
  if (!port) return fail_errno(errno, "cannot open", (*board)->port());
  if (auto on = (*board)->power_on(); !on) return on;
  pollfd ends[] = {{STDIN_FILENO, POLLIN, 0}, {port.get(), POLLIN, 0}};
  for (;;) {
    if (poll(ends, 2, -1) < 0 && errno != EINTR) return fail_errno(errno, "poll");
    if (ends[0].revents != 0 && !pass(STDIN_FILENO, port.get())) return {};
    if (ends[1].revents != 0 && !pass(port.get(), STDOUT_FILENO)) return {};
  }
}

}  // namespace
}  // namespace assay

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fputs("usage: qemu_far_end BOARD ROM_VERSION\n", stderr);
    return 2;
  }
  const auto done = assay::run(argv[1], argv[2]);
  if (done) return 0;
  std::fprintf(stderr, "qemu_far_end: %s\n", done.error().text().c_str());
  return 3;
}
