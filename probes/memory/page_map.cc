#include "probes/memory/page_map.h"

#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <string>

namespace assay::probes {
namespace {

constexpr std::uint64_t present_bit = std::uint64_t{1} << 63;
constexpr std::uint64_t frame_bits = (std::uint64_t{1} << 55) - 1;
// 64 TiB of 4 KiB pages.
constexpr std::uint64_t most_frames = std::uint64_t{1} << 34;

}  // namespace

std::size_t PageMap::page_bytes() {
  static const auto bytes = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  return bytes;
}

Result<PageMap> PageMap::open() {
  UniqueFd fd(::open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC));
  if (!fd) return fail_errno(errno, "cannot open", "/proc/self/pagemap");
  PageMap map(std::move(fd));
  // A page that is present for sure: this one is being written.
  volatile std::byte here{1};
  const auto address = map.physical_address(const_cast<const std::byte*>(&here));
  if (!address) {
    return fail(ErrorKind::unavailable, "the kernel tells page frames to root only",
                "/proc/self/pagemap", "run with CAP_SYS_ADMIN");
  }
  return map;
}

std::optional<std::uint64_t> PageMap::physical_address(const std::byte* address) const {
  const auto at = reinterpret_cast<std::uintptr_t>(address);
  std::uint64_t entry = 0;
  const auto offset = static_cast<off_t>(at / page_bytes() * sizeof entry);
  if (pread(fd_.get(), &entry, sizeof entry, offset) != sizeof entry) return std::nullopt;
  const std::uint64_t frame = entry & frame_bits;
  if ((entry & present_bit) == 0 || frame == 0) return std::nullopt;
  return frame * page_bytes() + at % page_bytes();
}

Result<std::vector<std::uint64_t>> PageMap::frames(std::span<const std::byte> region) const {
  const std::size_t pages = (region.size() + page_bytes() - 1) / page_bytes();
  std::vector<std::uint64_t> entries(pages);
  const auto first = reinterpret_cast<std::uintptr_t>(region.data()) / page_bytes();
  auto* to = reinterpret_cast<char*>(entries.data());
  std::size_t left = pages * sizeof entries[0];
  auto offset = static_cast<off_t>(first * sizeof entries[0]);
  while (left > 0) {
    const ssize_t n = pread(fd_.get(), to, left, offset);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return fail_errno(n < 0 ? errno : EIO, "cannot read", "/proc/self/pagemap");
    to += n;
    offset += n;
    left -= static_cast<std::size_t>(n);
  }
  for (std::uint64_t& entry : entries) {
    entry = (entry & present_bit) != 0 ? entry & frame_bits : 0;
  }
  return entries;
}

std::uint64_t typical_run_bytes(std::span<const std::uint64_t> frames, std::size_t page_bytes) {
  std::vector<std::size_t> runs;
  for (std::size_t i = 0; i < frames.size(); ++i) {
    const bool follows = i > 0 && frames[i] != 0 && frames[i] == frames[i - 1] + 1;
    if (follows) {
      ++runs.back();
    } else {
      runs.push_back(1);
    }
  }
  std::sort(runs.begin(), runs.end(), std::greater<>());
  std::size_t covered = 0;
  for (const std::size_t run : runs) {
    covered += run;
    if (covered * 2 >= frames.size()) return run * page_bytes;
  }
  return 0;
}

void FrameCoverage::add(std::span<const std::uint64_t> frames) {
  for (const std::uint64_t frame : frames) {
    if (frame == 0 || frame >= most_frames) continue;
    if (frame >= seen_.size()) seen_.resize(frame + 1 + frame / 4);
    if (seen_[frame]) continue;
    seen_[frame] = true;
    ++unique_;
  }
}

Result<std::uint64_t> present_frames(const Machine& machine) {
  const auto text = machine.read("/proc/zoneinfo", 4 << 20);
  if (!text) return std::unexpected(text.error());
  return parse_present_frames(*text);
}

Result<std::uint64_t> parse_present_frames(std::string_view text) {
  std::uint64_t total = 0;
  constexpr std::string_view key = "\n        present ";
  for (std::size_t at = text.find(key); at != text.npos; at = text.find(key, at + 1)) {
    const char* end = text.data() + text.size();
    const char* number = text.data() + at + key.size();
    while (number < end && *number == ' ') ++number;
    std::uint64_t frames = 0;
    if (std::from_chars(number, end, frames).ec != std::errc{} || frames > most_frames) {
      return fail(ErrorKind::protocol, "a zone's \"present\" is no number", "/proc/zoneinfo");
    }
    total += frames;
    if (total > most_frames) return fail(ErrorKind::protocol, "too many frames", "/proc/zoneinfo");
  }
  if (total == 0) return fail(ErrorKind::protocol, "has no \"present\" line", "/proc/zoneinfo");
  return total;
}

}  // namespace assay::probes
