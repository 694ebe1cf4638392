// Memory of this machine in pages as large as can be had, in the order of their physical addresses:
// pages that are neighbours in DRAM are neighbours here. Huge pages of 1 GiB first, then of 2 MiB
// (kernel documentation, admin-guide/mm/hugetlbpage), then ordinary memory with the wish for
// transparent huge pages. A process that is killed leaves the kernel's pools of huge pages as large
// as they had grown: nr_hugepages sets them back.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/result.h"

namespace assay {
class PageMap;
}

namespace assay::runtime {

struct PhysicalRun {
  std::uint64_t offset = 0;  // in the memory
  std::uint64_t bytes = 0;
};

// How the memory is made up, bytes.
struct PageShares {
  std::uint64_t gib = 0;    // in pages of 1 GiB
  std::uint64_t mib = 0;    // in pages of 2 MiB
  std::uint64_t plain = 0;  // in ordinary ones, which may be huge transparently
};

class PoolPages {
 public:
  // `bytes` is rounded up to pages. As root the kernel's pools of huge pages are grown by what is
  // missing, as far as it can, and shrunk again by the destructor. All pages are present and zero.
  // Errors: usage for 0 bytes; exhausted.
  static Result<std::unique_ptr<PoolPages>> take(std::uint64_t bytes);
  ~PoolPages();
  PoolPages(const PoolPages&) = delete;
  PoolPages& operator=(const PoolPages&) = delete;

  std::span<std::byte> memory() const { return memory_; }
  const PageShares& shares() const { return shares_; }
  // Ascending and without gaps. By the kernel's page map where it tells frames (root); else a page
  // is a run.
  const std::vector<PhysicalRun>& runs() const { return runs_; }
  bool frames_known() const { return frames_known_; }

 private:
  struct Backing;
  explicit PoolPages(std::vector<Backing> backings);
  Result<> map_all();
  Result<> map_huge(const Backing& backing, std::uint64_t at, const PageMap* map);
  Result<> map_plain(const Backing& backing, std::uint64_t at);
  void find_runs(const PageMap* map);
  static std::unexpected<Error> no_room(std::uint64_t bytes, int error_number);

  std::span<std::byte> memory_;
  std::vector<Backing> backings_;
  PageShares shares_;
  std::vector<PhysicalRun> runs_;
  bool frames_known_ = false;
};

}  // namespace assay::runtime
