// What a pool does for contiguity on a machine whose memory another program has fragmented: the
// longest free run of physical frames, and the largest block that a pool can give, before, during
// and after. Needs root. Nothing is timed.
// usage: pool_effect [--pool 4G] [--fragment 14G]
#include <fmt/core.h>
#include <sys/mman.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <string>

#include "base/units.h"
#include "probes/fragmentation/frame_runs.h"
#include "runtime/pool/memory_pool.h"

namespace assay::bench {
namespace {

constexpr std::uint64_t page = 4096;

// Holds every second page of a stretch of ordinary memory: half of it is free, in single pages.
class Fragmenter {
 public:
  ~Fragmenter() {
    if (memory_ != nullptr) ::munmap(memory_, bytes_);
  }
  Fragmenter() = default;
  Fragmenter(const Fragmenter&) = delete;
  Fragmenter& operator=(const Fragmenter&) = delete;

  bool fragment(std::uint64_t bytes) {
    void* memory =
        ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) return false;
    memory_ = static_cast<std::byte*>(memory);
    bytes_ = bytes;
    (void)::madvise(memory_, bytes_, MADV_NOHUGEPAGE);
    if (::madvise(memory_, bytes_, MADV_POPULATE_WRITE) != 0) return false;
    for (std::uint64_t at = 0; at + page <= bytes_; at += 2 * page) {
      if (::madvise(memory_ + at, page, MADV_DONTNEED) != 0) return false;
    }
    return true;
  }

 private:
  std::byte* memory_ = nullptr;
  std::uint64_t bytes_ = 0;
};

std::string longest_free_run() {
  const CancelToken never;
  const auto runs = probes::read_frame_runs(Machine(), never, nullptr);
  return runs ? format_gib(runs->free().frames * page) : runs.error().text();
}

void row(const char* when, const std::string& run, const runtime::MemoryPool* pool) {
  std::string block;
  std::string made_of;
  if (pool != nullptr) {
    const runtime::PageShares shares = pool->shares();
    block = format_gib(pool->info().largest_free_block_bytes);
    made_of = fmt::format("{} / {} / {}", format_gib(shares.gib), format_gib(shares.mib),
                          format_gib(shares.plain));
  }
  fmt::print("| {:<44} | {:>9} | {:>9} | {} |\n", when, run, block, made_of);
}

int run(std::uint64_t pool_bytes, std::uint64_t fragment_bytes) {
  fmt::print("| {:<44} | {:>9} | {:>9} | {} |\n| --- | --- | --- | --- |\n", "", "free run",
             "pool block", "of it in pages of 1 GiB / 2 MiB / 4 KiB");
  const auto show_pool = [&](const char* when) {
    const std::string free = longest_free_run();
    const auto pool = runtime::MemoryPool::create(pool_bytes);
    if (!pool) {
      fmt::print(stderr, "{}\n", pool.error().text());
      return false;
    }
    row(when, free, pool->get());
    return true;
  };
  if (!show_pool("as the machine is")) return 3;
  Fragmenter fragmenter;
  if (!fragmenter.fragment(fragment_bytes)) {
    fmt::print(stderr, "cannot take {}: --fragment less\n", format_gib(fragment_bytes));
    return 3;
  }
  const std::string fragmented = longest_free_run();
  const auto pool = runtime::MemoryPool::create(pool_bytes);
  if (!pool) {
    fmt::print(stderr, "{}\n", pool.error().text());
    return 3;
  }
  row("every second page taken, the pool behind it", fragmented, pool->get());
  if (const auto joined = (*pool)->defragment(); !joined) {
    fmt::print(stderr, "{}\n", joined.error().text());
    return 3;
  }
  row("the pool flushed and defragmented", longest_free_run(), pool->get());
  return 0;
}

}  // namespace
}  // namespace assay::bench

int main(int argc, char** argv) {
  CLI::App app("What a pool does for contiguity on a machine with fragmented memory.");
  std::string pool = "4G";
  std::string fragment = "14G";
  app.add_option("--pool", pool, "size of the pool")->capture_default_str();
  app.add_option("--fragment", fragment, "memory of which every second page is held")
      ->capture_default_str();
  app.footer("Example:\n  sudo build/release/bin/pool_effect --pool 4G --fragment 14G");
  CLI11_PARSE(app, argc, argv);
  const auto pool_bytes = assay::parse_size(pool);
  const auto fragment_bytes = assay::parse_size(fragment);
  if (!pool_bytes || !fragment_bytes || *pool_bytes == 0 || *fragment_bytes < (1 << 20)) {
    fmt::print(stderr, "expected sizes such as 4G\n");
    return 2;
  }
  return assay::bench::run(*pool_bytes, *fragment_bytes / 4096 * 4096);
}
