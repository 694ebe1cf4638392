#include "probes/fragmentation/frame_runs.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <vector>

namespace assay::probes {
namespace {

// include/uapi/linux/kernel-page-flags.h, and those above 31 for kernel hackers.
constexpr std::uint64_t bit(unsigned n) {
  return std::uint64_t{1} << n;
}
constexpr std::uint64_t kpf_lru = bit(5);
constexpr std::uint64_t kpf_buddy = bit(10);
constexpr std::uint64_t kpf_unevictable = bit(18);
constexpr std::uint64_t kpf_mlocked = bit(33);

constexpr std::size_t frames_a_read = std::size_t{64} << 10;

}  // namespace

void FrameRuns::Runs::add(std::uint64_t frame, bool is_part) {
  if (!is_part) {
    current.frames = 0;
    return;
  }
  if (current.frames == 0) current.first = frame;
  ++current.frames;
  if (current.frames > longest.frames) longest = current;
}

void FrameRuns::add(std::span<const std::uint64_t> flags) {
  for (const std::uint64_t f : flags) {
    const bool is_free = (f & kpf_buddy) != 0;
    free_.add(next_, is_free);
    movable_.add(next_,
                 is_free || ((f & kpf_lru) != 0 && (f & (kpf_unevictable | kpf_mlocked)) == 0));
    ++next_;
  }
}

Result<FrameRuns> read_frame_runs(const Machine& machine, const CancelToken& cancel,
                                  const std::function<void(std::uint64_t frames)>& progress) {
  constexpr const char* file = "/proc/kpageflags";
  const auto fd = machine.open(file, O_RDONLY);
  if (!fd) return fail(ErrorKind::unavailable, fd.error().what, file, "as root it can be read");
  FrameRuns runs;
  std::vector<std::uint64_t> flags(frames_a_read);
  for (;;) {
    if (cancel.cancelled()) return fail(ErrorKind::cancelled, "cancelled while reading", file);
    const ssize_t n = ::read(fd->get(), flags.data(), flags.size() * sizeof flags[0]);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return fail_errno(errno, "cannot be read", file);
    if (n == 0) return runs;
    // The kernel gives whole entries.
    const std::size_t count = static_cast<std::size_t>(n) / sizeof flags[0];
    if (count == 0) return fail(ErrorKind::protocol, "ends within an entry", file);
    runs.add({flags.data(), count});
    if (progress) progress(runs.frames());
  }
}

}  // namespace assay::probes
