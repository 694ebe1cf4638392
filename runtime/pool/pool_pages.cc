#include "runtime/pool/pool_pages.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <system_error>

#include "base/fd.h"
#include "base/page_map.h"
#include "base/units.h"
#include "runtime/pool/huge_page_counts.h"

namespace assay::runtime {
namespace {

constexpr std::uint64_t mib_page = std::uint64_t{2} << 20;
constexpr std::uint64_t gib_page = std::uint64_t{1} << 30;
// Each may become a mapping of its own, and a process has 65530 (vm.max_map_count).
constexpr std::uint64_t most_pages_to_order = 32'768;
constexpr unsigned huge_shift = 26;  // MFD_HUGE_SHIFT

std::uint64_t rounded_up(std::uint64_t bytes, std::uint64_t to) {
  return (bytes + to - 1) / to * to;
}

unsigned log2_of(std::uint64_t power) {
  return static_cast<unsigned>(__builtin_ctzll(power));
}

}  // namespace

// Pages of one size, in a file without a name: any page of it can be mapped anywhere.
struct PoolPages::Backing {
  UniqueFd file;  // none: anonymous memory
  std::uint64_t page_bytes = 0;
  std::uint64_t pages = 0;
  std::int64_t pool_grown_by = 0;  // pages that were added to the kernel's pool for this

  std::uint64_t bytes() const { return page_bytes * pages; }
};

namespace {

// A file with as many huge pages as the kernel gives, at most `wanted`.
Result<UniqueFd> huge_file(std::uint64_t page_bytes, std::uint64_t& pages) {
  const unsigned flags = MFD_CLOEXEC | MFD_HUGETLB | (log2_of(page_bytes) << huge_shift);
  UniqueFd file(::memfd_create("assay-pool", flags));
  if (!file) return fail_errno(errno, "no huge pages");
  // One by one: what another program takes meanwhile ends it, and what came so far is kept.
  std::uint64_t have = 0;
  while (have < pages && ::fallocate(file.get(), 0, static_cast<off_t>(have * page_bytes),
                                     static_cast<off_t>(page_bytes)) == 0) {
    ++have;
  }
  pages = have;
  return file;
}

}  // namespace

Result<std::unique_ptr<PoolPages>> PoolPages::take(std::uint64_t bytes) {
  if (bytes == 0) return fail(ErrorKind::usage, "a pool of 0 bytes");
  if (bytes > (std::uint64_t{1} << 46)) {
    return fail(ErrorKind::usage,
                "a pool of " + format_gib(bytes) + " is more than any machine has");
  }
  const Machine machine;
  std::uint64_t left = rounded_up(bytes, PageMap::page_bytes());
  std::vector<Backing> backings;
  for (const std::uint64_t page_bytes : {gib_page, mib_page}) {
    std::uint64_t pages = left / page_bytes;
    if (pages == 0) continue;
    Backing backing{.file = UniqueFd(), .page_bytes = page_bytes};
    const std::uint64_t free = free_huge_pages(machine, page_bytes);
    if (free < pages) {
      backing.pool_grown_by =
          resize_huge_page_pool(machine, page_bytes, static_cast<std::int64_t>(pages - free));
    }
    pages = std::min(pages, free_huge_pages(machine, page_bytes));
    if (auto file = huge_file(page_bytes, pages); file && pages > 0) {
      backing.file = std::move(*file);
      backing.pages = pages;
      left -= backing.bytes();
    }
    // Kept though it has no page: what the pool has grown by is given back with it.
    backings.push_back(std::move(backing));
  }
  if (left > 0) {
    const std::uint64_t page_bytes = PageMap::page_bytes();
    backings.push_back({.file = UniqueFd(), .page_bytes = page_bytes, .pages = left / page_bytes});
  }
  std::unique_ptr<PoolPages> pool(new PoolPages(std::move(backings)));
  if (auto mapped = pool->map_all(); !mapped) return std::unexpected(mapped.error());
  return pool;
}

PoolPages::PoolPages(std::vector<Backing> backings) : backings_(std::move(backings)) {}

PoolPages::~PoolPages() {
  if (!memory_.empty()) ::munmap(memory_.data(), memory_.size());
  for (Backing& backing : backings_) {
    backing.file.reset();
    if (backing.pool_grown_by > 0) {
      (void)resize_huge_page_pool(Machine(), backing.page_bytes, -backing.pool_grown_by);
    }
  }
}

Result<> PoolPages::map_all() {
  std::uint64_t bytes = 0;
  for (const Backing& backing : backings_) bytes += backing.bytes();
  // Room for it that begins where the largest page may: the largest pages come first, so that all
  // of them lie as they must.
  const std::uint64_t room = bytes + gib_page;
  void* reserved =
      ::mmap(nullptr, room, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (reserved == MAP_FAILED) return no_room(bytes, errno);
  auto* const begin = static_cast<std::byte*>(reserved);
  const std::uint64_t skip = rounded_up(reinterpret_cast<std::uintptr_t>(begin), gib_page) -
                             reinterpret_cast<std::uintptr_t>(begin);
  if (skip > 0) ::munmap(begin, skip);
  if (gib_page > skip) ::munmap(begin + skip + bytes, gib_page - skip);
  memory_ = {begin + skip, bytes};

  auto map = PageMap::open();
  frames_known_ = map.has_value();
  std::uint64_t at = 0;
  for (const Backing& backing : backings_) {
    if (backing.pages == 0) continue;  // the kernel had none of this size
    const auto placed =
        backing.file ? map_huge(backing, at, map ? &*map : nullptr) : map_plain(backing, at);
    if (!placed) return placed;
    at += backing.bytes();
  }
  find_runs(map ? &*map : nullptr);
  return {};
}

std::unexpected<Error> PoolPages::no_room(std::uint64_t bytes, int error_number) {
  return fail(ErrorKind::exhausted,
              fmt::format("cannot take {}: {}", format_gib(bytes),
                          std::system_category().message(error_number)),
              {}, "ask for less, or free memory");
}

// Each page where its physical address puts it among the others.
Result<> PoolPages::map_huge(const Backing& backing, std::uint64_t at, const PageMap* map) {
  std::byte* const begin = memory_.data() + at;
  void* placed = ::mmap(begin, backing.bytes(), PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_FIXED | MAP_POPULATE, backing.file.get(), 0);
  if (placed == MAP_FAILED) return no_room(backing.bytes(), errno);
  (backing.page_bytes == gib_page ? shares_.gib : shares_.mib) += backing.bytes();
  if (map == nullptr || backing.pages > most_pages_to_order) return {};
  struct Placed {
    std::uint64_t physical;
    std::uint64_t in_file;
  };
  std::vector<Placed> order;
  for (std::uint64_t i = 0; i < backing.pages; ++i) {
    // Populated or not: a page is there once it was touched.
    auto* page = begin + i * backing.page_bytes;
    *const_cast<volatile std::byte*>(page) = std::byte{0};
    order.push_back({map->physical_address(page).value_or(0), i * backing.page_bytes});
  }
  std::sort(order.begin(), order.end(),
            [](const Placed& a, const Placed& b) { return a.physical < b.physical; });
  for (std::uint64_t i = 0; i < backing.pages; ++i) {
    placed = ::mmap(begin + i * backing.page_bytes, backing.page_bytes, PROT_READ | PROT_WRITE,
                    MAP_SHARED | MAP_FIXED | MAP_POPULATE, backing.file.get(),
                    static_cast<off_t>(order[i].in_file));
    if (placed == MAP_FAILED) return no_room(backing.page_bytes, errno);
  }
  return {};
}

Result<> PoolPages::map_plain(const Backing& backing, std::uint64_t at) {
  std::byte* const begin = memory_.data() + at;
  void* placed = ::mmap(begin, backing.bytes(), PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
  if (placed == MAP_FAILED) return no_room(backing.bytes(), errno);
  (void)::madvise(begin, backing.bytes(), MADV_HUGEPAGE);
  if (::madvise(begin, backing.bytes(), MADV_POPULATE_WRITE) != 0) {
    return no_room(backing.bytes(), errno);
  }
  shares_.plain += backing.bytes();
  return {};
}

void PoolPages::find_runs(const PageMap* map) {
  std::uint64_t offset = 0;
  std::uint64_t next_frame = 0;
  for (const Backing& backing : backings_) {
    const std::uint64_t frames_a_page = backing.page_bytes / PageMap::page_bytes();
    // Of a huge page the first frame tells all others.
    std::vector<std::uint64_t> frames(backing.pages);
    if (map != nullptr && frames_a_page == 1) {
      if (auto told = map->frames(memory_.subspan(offset, backing.bytes()))) frames = *told;
    } else if (map != nullptr) {
      for (std::uint64_t i = 0; i < backing.pages; ++i) {
        frames[i] =
            map->physical_address(memory_.data() + offset + i * backing.page_bytes).value_or(0) /
            PageMap::page_bytes();
      }
    }
    for (const std::uint64_t frame : frames) {
      if (frame != 0 && frame == next_frame) {
        runs_.back().bytes += backing.page_bytes;
      } else {
        runs_.push_back({offset, backing.page_bytes});
      }
      next_frame = frame == 0 ? 0 : frame + frames_a_page;
      offset += backing.page_bytes;
    }
  }
}

}  // namespace assay::runtime
