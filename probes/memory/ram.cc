#include "probes/memory/ram.h"

#include <fmt/core.h>
#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <optional>
#include <sstream>

#include "base/units.h"

namespace assay::probes {
namespace {

constexpr std::size_t small_page = 1 << 12;
constexpr std::size_t big_page = std::size_t{2} << 20;
constexpr std::size_t piece_bytes = std::size_t{32} << 20;
constexpr std::uint64_t smallest_reserve = 2 * Ram::least_usable;

// Makes pages present. False when the kernel has none left.
bool populate(std::byte* data, std::size_t length) {
  if (madvise(data, length, MADV_POPULATE_WRITE) == 0) return true;
  if (errno != EINVAL) return false;
  // Kernels before 5.14 cannot populate: touch.
  for (std::size_t i = 0; i < length; i += small_page) {
    *static_cast<volatile std::byte*>(data + i) = std::byte{0};
  }
  return true;
}

// The number behind `name`, which begins a line of its own.
std::optional<std::uint64_t> field(const std::string& text, std::string_view name) {
  std::size_t at = text.starts_with(name) ? 0 : text.find("\n" + std::string(name));
  if (at == std::string::npos) return std::nullopt;
  at = text.find_first_not_of(' ', at + name.size() + (at == 0 ? 0 : 1));
  if (at == std::string::npos) return std::nullopt;
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data() + at, text.data() + text.size(), number);
  if (error != std::errc{}) return std::nullopt;
  return number;
}

// "MemAvailable:   123 kB" of /proc/meminfo, in bytes.
std::optional<std::uint64_t> meminfo_field(const std::string& text, std::string_view name) {
  const auto kib = field(text, name);
  if (!kib || *kib > (UINT64_MAX >> 10)) return std::nullopt;
  return *kib << 10;
}

// What one control group still allows. Files that it has read are given back as
// soon as memory is short, as in MemAvailable.
struct GroupFiles {
  const char* limit;
  const char* used;
  std::array<const char*, 2> reclaimable;  // in memory.stat
};
constexpr GroupFiles version_1 = {"/memory.limit_in_bytes",
                                  "/memory.usage_in_bytes",
                                  {"total_inactive_file ", "total_active_file "}};
constexpr GroupFiles version_2 = {
    "/memory.max", "/memory.current", {"inactive_file ", "active_file "}};

std::uint64_t allowed_by(const Machine& machine, const std::string& folder,
                         const GroupFiles& files) {
  const auto limit = machine.read_integer(folder + files.limit);
  const auto used = machine.read_integer(folder + files.used);
  if (!limit || !used) return UINT64_MAX;
  const std::string stat = machine.read(folder + "/memory.stat").value_or("");
  std::int64_t kept = *used;
  for (const char* name : files.reclaimable) {
    kept -= std::min(kept, static_cast<std::int64_t>(field(stat, name).value_or(0)));
  }
  return static_cast<std::uint64_t>(std::max<std::int64_t>(*limit - kept, 0));
}

// What the control groups of this process, and those around them, still allow (kernel documentation
// admin-guide/cgroup-v2, and cgroup-v1/memory). In a container its own group is often the root.
std::uint64_t allowed_by_cgroups(const Machine& machine) {
  std::uint64_t allowed = UINT64_MAX;
  std::istringstream lines(machine.read("/proc/self/cgroup", 1 << 16).value_or("") + "\n0::/\n");
  for (std::string line; std::getline(lines, line);) {
    // "0::/a/b" of version 2, "5:memory:/a/b" of version 1.
    const std::size_t first = line.find(':');
    const std::size_t second = first == line.npos ? line.npos : line.find(':', first + 1);
    if (second == line.npos) continue;
    const bool v1 = line.substr(first, second - first).find("memory") != line.npos;
    std::string path = line.substr(second + 1);
    while (true) {
      while (path.ends_with('/')) path.pop_back();
      const std::string folder = "/sys/fs/cgroup" + std::string(v1 ? "/memory" : "") + path;
      allowed = std::min(allowed, allowed_by(machine, folder, v1 ? version_1 : version_2));
      const std::size_t slash = path.rfind('/');
      if (slash == path.npos) break;
      path.erase(slash);
    }
  }
  return allowed;
}

}  // namespace

Result<RamRegion> RamRegion::allocate(std::size_t bytes, WorkerPool& workers,
                                      const KeepGoing& keep_going, const Ram& ram) {
  const std::size_t size = (bytes + small_page - 1) / small_page * small_page;
  void* data = mmap(nullptr, size, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (data == MAP_FAILED) {
    return fail(ErrorKind::exhausted, "the kernel gave no " + format_gib(size) + " of memory");
  }
  RamRegion region(static_cast<std::byte*>(data), size, workers);
  // Large pages where they can be had: fewer translations, longer physical runs.
  if (size >= big_page) (void)madvise(data, size, MADV_HUGEPAGE);
  // Pages are made present before any clock starts; a first touch costs 20 times a pass. In pieces,
  // with a look before each at what is left: others may have taken it meanwhile, and a kernel that
  // has none left kills before it refuses. Each worker takes the pages of its own part: the kernel
  // gives them from the memory next to its processor.
  std::atomic<std::size_t> present{0};
  std::atomic<std::size_t> coming{0};  // asked for by a worker, and not yet gone from what is left
  std::atomic<bool> refused{false};
  std::atomic<bool> given_up{false};
  std::atomic<bool> locked{true};
  workers.run([&](unsigned worker) {
    const Share part = share_of(size, worker, workers.size(), big_page);
    for (std::size_t at = part.first; at < part.last && !refused && !given_up; at += piece_bytes) {
      const std::size_t length = std::min(piece_bytes, part.last - at);
      const std::size_t wanted = coming += length;
      const auto usable = ram.usable();
      if ((usable && *usable < wanted + Ram::least_usable) ||
          !populate(region.data_ + at, length)) {
        refused = true;
        return;
      }
      coming -= length;
      if (locked && mlock(region.data_ + at, length) != 0) locked = false;
      if (!keep_going(present += length)) given_up = true;
    }
  });
  if (given_up) return fail(ErrorKind::cancelled, "stopped while getting memory");
  if (refused) {
    return fail(ErrorKind::exhausted,
                fmt::format("{} of {} of memory could be had without taking it from other programs",
                            format_gib(present), format_gib(size)),
                {}, "ask for less with --size");
  }
  region.locked_ = locked;
  return region;
}

RamRegion::RamRegion(RamRegion&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)),
      size_(std::exchange(other.size_, 0)),
      workers_(other.workers_),
      locked_(other.locked_) {}

void RamRegion::give_back() {
  munmap(std::exchange(data_, nullptr), std::exchange(size_, 0));
}

RamRegion::~RamRegion() {
  if (data_ == nullptr) return;
  // The kernel clears and sorts in what comes back, page by page, and does so for several threads
  // at once: a test that is cancelled is gone sooner.
  workers_->run([this](unsigned worker) {
    const Share part = share_of(size_, worker, workers_->size(), big_page);
    if (part.first < part.last) munmap(data_ + part.first, part.last - part.first);
  });
}

Result<std::uint64_t> usable_memory(const Machine& machine) {
  const auto meminfo = machine.read("/proc/meminfo");
  if (!meminfo) return std::unexpected(meminfo.error());
  const auto available = meminfo_field(*meminfo, "MemAvailable:");
  if (!available) {
    return fail(ErrorKind::protocol, "has no MemAvailable line", "/proc/meminfo");
  }
  return std::min(*available, allowed_by_cgroups(machine));
}

Result<std::uint64_t> available_memory(const Machine& machine) {
  const auto usable = usable_memory(machine);
  if (!usable) return usable;
  const std::uint64_t reserve = std::max(*usable / 20, smallest_reserve);
  return *usable > reserve ? *usable - reserve : 0;
}

Result<std::uint64_t> total_memory(const Machine& machine) {
  const auto meminfo = machine.read("/proc/meminfo");
  if (!meminfo) return std::unexpected(meminfo.error());
  const auto total = meminfo_field(*meminfo, "MemTotal:");
  if (!total) return fail(ErrorKind::protocol, "has no MemTotal line", "/proc/meminfo");
  return *total;
}

std::optional<std::uint64_t> largest_cache(const Machine& machine) {
  const std::string folder = "/sys/devices/system/cpu/cpu0/cache";
  std::optional<std::uint64_t> largest;
  for (const std::string& name : machine.list(folder).value_or(std::vector<std::string>())) {
    // "32768K"
    const auto size = parse_size(machine.read_line(folder + "/" + name + "/size").value_or(""));
    if (size) largest = std::max(largest.value_or(0), *size);
  }
  return largest;
}

// The RAM under test is always this machine's, also when the board beside it is a virtual one.
Result<std::uint64_t> Ram::available() const {
  return available_memory(Machine("/"));
}
Result<std::uint64_t> Ram::usable() const {
  return usable_memory(Machine("/"));
}
Result<std::uint64_t> Ram::total() const {
  return total_memory(Machine("/"));
}

}  // namespace assay::probes
