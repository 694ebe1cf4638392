#include "probes/memory/frame_coverage.h"

#include <algorithm>
#include <charconv>
#include <string>

namespace assay::probes {
namespace {

// 64 TiB of 4 KiB pages.
constexpr std::uint64_t most_frames = std::uint64_t{1} << 34;

}  // namespace

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
