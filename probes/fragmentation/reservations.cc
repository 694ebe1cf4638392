#include "probes/fragmentation/reservations.h"

#include <algorithm>
#include <charconv>

#include "base/utf8.h"

namespace assay::probes {
namespace {

constexpr std::size_t most_ranges = 4096;

// "CmaTotal:         262144 kB", in bytes.
std::optional<std::uint64_t> kib_line(std::string_view text, std::string_view name) {
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (!line.starts_with(name)) continue;
    line.remove_prefix(name.size());
    line.remove_prefix(std::min(line.find_first_not_of(" \t"), line.size()));
    std::uint64_t kib = 0;
    const auto [at, error] = std::from_chars(line.data(), line.data() + line.size(), kib);
    if (error != std::errc{} || kib > (UINT64_MAX >> 10)) return std::nullopt;
    return kib << 10;
  }
  return std::nullopt;
}

std::optional<std::uint64_t> count_in(const Machine& machine, const std::string& file) {
  const auto number = machine.read_integer(file);
  if (!number || *number < 0) return std::nullopt;
  return static_cast<std::uint64_t>(*number);
}

CmaArea& area_named(std::vector<CmaArea>& areas, const std::string& name) {
  const auto known = std::find_if(areas.begin(), areas.end(),
                                  [&](const CmaArea& area) { return area.name == name; });
  if (known != areas.end()) return *known;
  areas.push_back({.name = name});
  return areas.back();
}

// mm/cma_debug.c: counts of pages.
void add_debugfs_areas(const Machine& machine, std::uint64_t page_bytes,
                       std::vector<CmaArea>& areas) {
  const std::string folder = "/sys/kernel/debug/cma/";
  for (const std::string& entry : machine.list(folder).value_or(std::vector<std::string>())) {
    // Kernels before 5.x call the folder "cma-NAME".
    CmaArea& area = area_named(areas, entry.starts_with("cma-") ? entry.substr(4) : entry);
    area.bytes = count_in(machine, folder + entry + "/count").value_or(0) * page_bytes;
    if (const auto used = count_in(machine, folder + entry + "/used")) {
      area.used_bytes = *used * page_bytes;
    }
    if (const auto longest = count_in(machine, folder + entry + "/maxchunk")) {
      area.longest_free = *longest * page_bytes;
    }
  }
}

// mm/cma_sysfs.c.
void add_sysfs_areas(const Machine& machine, std::uint64_t page_bytes,
                     std::vector<CmaArea>& areas) {
  const std::string folder = "/sys/kernel/mm/cma/";
  for (const std::string& entry : machine.list(folder).value_or(std::vector<std::string>())) {
    CmaArea& area = area_named(areas, entry);
    area.failed = count_in(machine, folder + entry + "/alloc_pages_fail").value_or(0);
    const auto total = count_in(machine, folder + entry + "/total_pages");
    const auto available = count_in(machine, folder + entry + "/available_pages");
    if (total) area.bytes = *total * page_bytes;
    if (total && available && *available <= *total) {
      area.used_bytes = (*total - *available) * page_bytes;
    }
  }
}

bool is_address(std::string_view text, std::uint64_t& value) {
  const auto [at, error] = std::from_chars(text.data(), text.data() + text.size(), value, 16);
  return error == std::errc{} && at == text.data() + text.size() && !text.empty();
}

bool is_reserved(std::string_view name) {
  // "Reserved" on x86, "reserved" elsewhere.
  return name.size() == 8 && (name[0] == 'R' || name[0] == 'r') && name.substr(1) == "eserved";
}

}  // namespace

Result<std::optional<CmaMemory>> read_cma(const Machine& machine, std::uint64_t page_bytes) {
  const auto meminfo = machine.read("/proc/meminfo");
  if (!meminfo) return std::unexpected(meminfo.error());
  const auto total = kib_line(*meminfo, "CmaTotal:");
  const auto free = kib_line(*meminfo, "CmaFree:");
  if (!total || !free) return std::optional<CmaMemory>();
  CmaMemory cma{*total, *free, {}};
  add_debugfs_areas(machine, page_bytes, cma.areas);
  add_sysfs_areas(machine, page_bytes, cma.areas);
  return cma;
}

std::vector<HugePagePool> read_huge_page_pools(const Machine& machine) {
  std::vector<HugePagePool> pools;
  const std::string folder = "/sys/kernel/mm/hugepages/";
  for (const std::string& entry : machine.list(folder).value_or(std::vector<std::string>())) {
    // hugepages-2048kB
    std::uint64_t kib = 0;
    constexpr std::string_view before = "hugepages-";
    if (!entry.starts_with(before)) continue;
    const char* end = entry.data() + entry.size();
    const auto [at, error] = std::from_chars(entry.data() + before.size(), end, kib);
    if (error != std::errc{} || std::string_view(at) != "kB" || kib > (UINT64_MAX >> 10)) continue;
    const auto count = [&](const char* name) {
      return count_in(machine, folder + entry + "/" + name).value_or(0);
    };
    pools.push_back({kib << 10, count("nr_hugepages"), count("free_hugepages"),
                     count("resv_hugepages"), count("surplus_hugepages")});
  }
  std::sort(pools.begin(), pools.end(), [](const HugePagePool& a, const HugePagePool& b) {
    return a.page_bytes > b.page_bytes;
  });
  return pools;
}

Result<std::vector<ReservedRange>> parse_reserved_ranges(std::string_view iomem) {
  std::vector<ReservedRange> ranges;
  bool in_ram = false;
  for (int number = 1; !iomem.empty(); ++number) {
    const std::size_t end = std::min(iomem.find('\n'), iomem.size());
    std::string_view line = iomem.substr(0, end);
    iomem.remove_prefix(std::min(end + 1, iomem.size()));
    if (line.ends_with('\r')) line.remove_suffix(1);
    const std::size_t indent = line.find_first_not_of(' ');
    if (indent == line.npos) continue;
    // "  01000000-022784c7 : Kernel code"
    const std::size_t colon = line.find(" : ");
    const std::size_t dash = line.find('-');
    ReservedRange range;
    if (colon == line.npos || dash == line.npos || dash > colon || ranges.size() >= most_ranges ||
        !is_address(line.substr(indent, dash - indent), range.first) ||
        !is_address(line.substr(dash + 1, colon - dash - 1), range.last) ||
        range.last < range.first) {
      return fail(ErrorKind::protocol,
                  "line " + std::to_string(number) + " is not \"FIRST-LAST : NAME\"",
                  "/proc/iomem");
    }
    const std::string_view name = line.substr(colon + 3);
    if (indent == 0) in_ram = name == "System RAM";
    if (range.last == 0 || (indent == 0 ? !is_reserved(name) : !in_ram)) continue;
    // Parts of what is in there already.
    if (!ranges.empty() && range.first >= ranges.back().first && range.last <= ranges.back().last) {
      continue;
    }
    range.name = to_printable(name.substr(0, 100));
    ranges.push_back(std::move(range));
  }
  return ranges;
}

}  // namespace assay::probes
