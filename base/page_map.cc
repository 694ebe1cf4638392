#include "base/page_map.h"

#include <fcntl.h>

#include <cerrno>

namespace assay {
namespace {

constexpr std::uint64_t present_bit = std::uint64_t{1} << 63;
constexpr std::uint64_t frame_bits = (std::uint64_t{1} << 55) - 1;

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

}  // namespace assay
