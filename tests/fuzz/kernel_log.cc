// probes/log: a whole log, in two pieces.
#include <string>

#include "base/utf8.h"
#include "probes/log/line_reader.h"
#include "probes/log/log_diagnosis.h"
#include "tests/fuzz/fuzz.h"

using assay::probes::LineReader;
using assay::probes::LogDiagnosis;
using assay::probes::LogFinding;
using assay::probes::LogResult;

namespace {

LogResult diagnosed_in_pieces(std::string_view log, std::size_t first) {
  LineReader reader;
  LogDiagnosis diagnosis;
  const auto add = [&](std::string_view line) { diagnosis.add(line); };
  reader.feed(log.substr(0, first), add);
  reader.feed(log.substr(first), add);
  reader.finish(add);
  return diagnosis.result();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view log = assay::fuzz::text_of(data, size);
  const LogResult whole = diagnosed_in_pieces(log, 0);
  const LogResult pieces = diagnosed_in_pieces(log, size / 2);
  assay::fuzz::require(whole.findings.size() == pieces.findings.size(),
                       "where a log is cut makes no difference");
  assay::fuzz::require(whole.findings.size() <= LogDiagnosis::most_findings, "bounded findings");
  for (std::size_t i = 0; i < whole.findings.size(); ++i) {
    const LogFinding& found = whole.findings[i];
    assay::fuzz::require(found.finding.message == pieces.findings[i].finding.message,
                         "nor to what a finding says");
    assay::fuzz::require(found.count > 0, "a finding was seen");
    assay::fuzz::require(!found.finding.likely.empty() && !found.finding.remedy.empty(),
                         "a finding has causes and remedies");
    for (const std::string* text :
         {&found.finding.message, &found.finding.where, &found.first, &found.last}) {
      assay::fuzz::require(*text == assay::to_printable(*text), "safe to print");
      assay::fuzz::require(text->size() < 5000, "bounded text");
    }
    assay::fuzz::require(found.finding.evidence.size() <= 10, "bounded evidence");
    for (const std::string& line : found.finding.evidence) {
      assay::fuzz::require(line == assay::to_printable(line), "safe to print");
    }
    assay::fuzz::reached(found.finding.code);
  }
  assay::fuzz::reached("pages of " + std::to_string(whole.page_bytes));
  return 0;
}
