// Line after line of a kernel log becomes findings: each once, with its count, its first and last
// time, the line that shows it, causes and remedy. No I/O; bounded memory, whatever the log.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "reports/findings/finding.h"

namespace assay::probes {

struct LogFinding {
  reports::Finding finding;  // its causes and remedies are filled in
  std::uint64_t count = 0;
  std::string first;  // times as the log has them; empty without
  std::string last;
  std::uint64_t line = 0;  // the first one, from 1
};

enum class PageSizeFrom { log, option, assumed };

struct LogResult {
  std::vector<LogFinding> findings;  // by the line where each was seen first
  // Events of findings beyond most_findings, which are not among them.
  std::uint64_t events_left_out = 0;
  // Messages that the kernel says it did not print (rate limits): counts are at least what they
  // say.
  std::uint64_t messages_suppressed = 0;
  // Of the last start of a kernel in the log, as is the kernel.
  std::uint64_t page_bytes = 4096;
  PageSizeFrom page_size_from = PageSizeFrom::assumed;
  std::string kernel;  // its version; empty where the log does not say
};
const char* to_text(PageSizeFrom from);

// Used by one thread.
class LogDiagnosis {
 public:
  // A log that reports more different places than this is noise.
  static constexpr std::size_t most_findings = 200;

  // `page_bytes` counts where the log does not say how large a page is.
  explicit LogDiagnosis(std::optional<std::uint64_t> page_bytes = std::nullopt);
  ~LogDiagnosis();
  LogDiagnosis(LogDiagnosis&&) noexcept;
  LogDiagnosis& operator=(LogDiagnosis&&) noexcept;

  // One line without its line end: any bytes, at most some thousand of them.
  void add(std::string_view line);

  // Of all lines so far.
  LogResult result() const;

 private:
  class State;
  std::unique_ptr<State> state_;
};

}  // namespace assay::probes
