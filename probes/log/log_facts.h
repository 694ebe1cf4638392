// What a log says of the machine that it comes from, and the sentences that a finding about memory
// takes from there: what was needed beside what was free. No I/O.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "probes/log/free_memory.h"
#include "probes/log/log_patterns.h"
#include "probes/log/log_template.h"

namespace assay::probes {

// The state of a CMA area, as a kernel with CONFIG_CMA_DEBUG prints it behind a failure.
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

struct TopicText {
  std::string sentences;  // each with its full stop; behind the finding's own
  // Empty: the catalog's.
  std::vector<std::string> likely;
  std::vector<std::string> remedy;
};

// `list` is the list of free memory that belongs to the event; null when there was none. The last
// one of `facts` is told where the event has none of its own, with its time.
TopicText topic_text(LogTopic topic, const LogFields& fields, const FreeMemory* list,
                     const LogFacts& facts, std::uint64_t page_bytes);

}  // namespace assay::probes
