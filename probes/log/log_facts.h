// What a log says of the machine that it comes from. No I/O.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "probes/log/free_memory.h"
#include "probes/log/log_expression.h"
#include "probes/log/log_patterns.h"

namespace assay::probes {

// The state of a CMA area, as kernels print it behind a failure: 6.12 does, 6.1 with
// CONFIG_CMA_DEBUG.
struct CmaFree {
  std::uint64_t free_pages = 0;
  std::uint64_t total_pages = 0;
  std::uint64_t longest_run_pages = 0;
};
// "1@63+4@124": runs of so many pages at these places.
std::uint64_t longest_run(std::string_view runs);

struct LogFacts {
  std::string kernel;
  std::optional<std::uint64_t> page_bytes;
  std::optional<std::uint64_t> cma_bytes;
  std::optional<CmaFree> cma_free;
  std::optional<std::uint64_t> available_bytes;  // when the kernel had started
  std::optional<std::uint64_t> bounce_bytes;
  std::string npu;  // the device that the log says has an IOMMU or none
  std::optional<bool> npu_has_iommu;
  std::shared_ptr<const FreeMemory> last_list;  // of free memory, wherever it stood; may be null
  std::string last_list_time;
};

// A page that Linux has on any machine: a power of two from 4 to 64 KiB.
bool is_page_size(std::uint64_t bytes);

// Takes one fact that a line tells. Those of the reading itself (kernel starts, lists, what was
// left out) are not for it: false.
bool take_fact(LogFact fact, const LogExpression::Match& match, LogFacts& facts);

}  // namespace assay::probes
