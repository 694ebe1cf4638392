// What a finding about memory says beside its message: what was needed, and what the same log says
// was there. No I/O.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "probes/log/free_memory.h"
#include "probes/log/log_facts.h"
#include "probes/log/log_patterns.h"
#include "probes/log/log_template.h"

namespace assay::probes {

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
