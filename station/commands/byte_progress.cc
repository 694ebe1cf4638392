#include "station/commands/byte_progress.h"

#include <fmt/core.h>
#include <unistd.h>

#include <cstdio>
#include <string>

#include "base/clock.h"
#include "base/units.h"

namespace assay::station {

ByteProgress::ByteProgress(std::uint64_t total)
    : total_(total), is_terminal_(isatty(STDERR_FILENO) == 1), begin_ns_(monotonic_ns()) {}

ByteProgress::~ByteProgress() {
  if (shown_) fmt::print(stderr, "\r\x1B[K");
}

void ByteProgress::show(std::uint64_t done) {
  const std::int64_t now = monotonic_ns();
  // What is done at once needs none.
  if (!is_terminal_ || now - begin_ns_ < ns_per_s || now - shown_ns_ < ns_per_s / 4) return;
  shown_ns_ = now;
  shown_ = true;
  const double rate = static_cast<double>(done) * ns_per_s / static_cast<double>(now - begin_ns_);
  std::string text = format_gb(done);
  if (total_ > done && rate > 0) {
    const double left = static_cast<double>(total_ - done) / rate * ns_per_s;
    text += fmt::format(" of {}, {} left", format_gb(total_),
                        format_seconds(static_cast<std::int64_t>(left)));
  }
  fmt::print(stderr, "\r\x1B[K{}, {}/s", text, format_gb(static_cast<std::uint64_t>(rate)));
  std::fflush(stderr);
}

}  // namespace assay::station
