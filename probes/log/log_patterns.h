// The messages that are known, as data. A line is looked at only where a pattern's literal occurs
// in it; the first pattern whose expression matches is what the line says.
#pragma once

#include <span>
#include <string_view>

#include "reports/findings/finding.h"

namespace assay::probes {

// What else of the log belongs to a finding's message.
enum class LogTopic {
  none,
  cma,              // the area's size and what was free of it
  page_allocation,  // the list of free blocks behind it
  bounce_buffer,    // the size of the pool
  dma_buffer,       // area and free memory
  npu_buffer,       // those, and whether the NPU has an IOMMU
  out_of_memory,    // the list of free blocks before the kill
};

// `where` and `message` are texts with fields: {group} is what the group matched, printable.
// {group|bytes}, {group|kib}, {group|pages}, {group|order} and {group|errno} say a number in words:
// "512 pages = 2 MiB". A part in [brackets] is left out when a field in it has no match.
//
// Groups with a meaning of their own: `n` counts for that many; of `size`, `pages` and `order` the
// largest is told; of `pfn` the first ones are listed.
struct LogPattern {
  std::string_view code;  // reports/findings
  reports::FindingKind kind = reports::FindingKind::fault;
  std::string_view literal;
  std::string_view expression;  // RE2, of bytes
  std::string_view where;       // one finding for each code and place
  std::string_view message;     // one sentence without its full stop
  LogTopic topic = LogTopic::none;
  // Codes of findings that say the same better: where there is one that repeats none itself, the
  // line joins its evidence.
  std::string_view repeats = {};
  // So many lines behind it belong to the evidence when they begin with the same driver and device.
  unsigned following_lines = 0;
};
std::span<const LogPattern> log_patterns();

// What a log says of the machine, and is no finding.
enum class LogFact {
  kernel,           // its version
  page_order,       // order and bytes of one allocation
  page_kib,         // size of a page
  cma_area,         // size and its unit, K, M or G
  memory,           // available and in all, KiB
  bounce_pool,      // MiB
  iommu_mode,       // device, "iommu" or "non-iommu"
  cma_free,         // runs, pages free, pages in all
  suppressed,       // messages that the kernel left out
  reclaim_context,  // flags of the request; a list of free memory follows
};
struct LogFactPattern {
  LogFact fact;
  std::string_view literal;
  std::string_view expression;  // its groups in the order above
};
std::span<const LogFactPattern> log_fact_patterns();

}  // namespace assay::probes
