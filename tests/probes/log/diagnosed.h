// A log as text, read as `assay diagnose` reads it.
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>

#include "probes/log/line_reader.h"
#include "probes/log/log_diagnosis.h"

namespace assay::probes {

inline LogResult diagnosed(std::string_view log,
                           std::optional<std::uint64_t> page_bytes = std::nullopt) {
  LineReader reader;
  LogDiagnosis diagnosis(page_bytes);
  const auto add = [&](std::string_view line) { diagnosis.add(line); };
  reader.feed(log, add);
  reader.finish(add);
  return diagnosis.result();
}

// The only finding of a log; one of code "NONE" or "SEVERAL" when it is not.
inline LogFinding only_finding(std::string_view log,
                               std::optional<std::uint64_t> page_bytes = std::nullopt) {
  const LogResult result = diagnosed(log, page_bytes);
  if (result.findings.size() == 1) return result.findings.front();
  LogFinding wrong;
  wrong.finding.code = result.findings.empty() ? "NONE" : "SEVERAL";
  return wrong;
}

// The finding of that code (and place); one of code "NONE" when there is none.
inline LogFinding finding_in(const LogResult& result, std::string_view code,
                             std::string_view where = "") {
  const auto found =
      std::find_if(result.findings.begin(), result.findings.end(), [&](const LogFinding& one) {
        return one.finding.code == code && (where.empty() || one.finding.where == where);
      });
  if (found != result.findings.end()) return *found;
  LogFinding none;
  none.finding.code = "NONE";
  return none;
}

}  // namespace assay::probes
