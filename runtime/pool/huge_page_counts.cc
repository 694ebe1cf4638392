#include "runtime/pool/huge_page_counts.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>

namespace assay::runtime {
namespace {

std::string pool_file(std::uint64_t page_bytes, const char* name) {
  return fmt::format("/sys/kernel/mm/hugepages/hugepages-{}kB/{}", page_bytes >> 10, name);
}

}  // namespace

std::uint64_t free_huge_pages(const Machine& machine, std::uint64_t page_bytes) {
  const std::int64_t free =
      machine.read_integer(pool_file(page_bytes, "free_hugepages")).value_or(0);
  const std::int64_t promised =
      machine.read_integer(pool_file(page_bytes, "resv_hugepages")).value_or(0);
  return static_cast<std::uint64_t>(std::max<std::int64_t>(free - promised, 0));
}

std::int64_t resize_huge_page_pool(const Machine& machine, std::uint64_t page_bytes,
                                   std::int64_t change) {
  const std::string file = pool_file(page_bytes, "nr_hugepages");
  const auto before = machine.read_integer(file);
  if (!before || change == 0) return 0;
  const auto fd = machine.open(file, O_WRONLY);
  if (!fd) return 0;
  const std::string wanted = std::to_string(std::max<std::int64_t>(*before + change, 0));
  if (::write(fd->get(), wanted.data(), wanted.size()) < 0) return 0;
  const auto after = machine.read_integer(file);
  return after ? *after - *before : 0;
}

}  // namespace assay::runtime
