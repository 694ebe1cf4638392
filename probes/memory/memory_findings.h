// What a memory test found, as findings, measurements and events of the step.
#pragma once

#include <optional>
#include <string>

#include "base/machine.h"
#include "probes/framework/context.h"
#include "probes/memory/edac.h"
#include "probes/memory/error_log.h"

namespace assay::probes {

// Errors written to the journal one by one.
inline constexpr std::size_t most_recorded_errors = 1000;
// And in the finding.
inline constexpr std::size_t most_lines_of_evidence = 8;
// One error, as it is seen.
void record_error(reports::StepRecorder& recorder, const MemoryError& error);

// "address 0x..., physical 0x...: expected ..., found ..., bits ... (test, ...)"
std::string evidence_of(const MemoryError& error);

// At the end: the fault, its likely cause, the map of the errors, what keeps a kernel off the
// pages.
void report_errors(reports::StepRecorder& recorder, const ErrorLog& log, std::uint64_t bytes);

// What the memory controller saw meanwhile. A corrected error is a finding although every read was
// right.
void report_edac(reports::StepRecorder& recorder, std::optional<EdacCounts> before,
                 std::optional<EdacCounts> after);

// Whether the kernel sees clearly less memory than the profile says; false where either is unknown.
bool memory_is_short(const Machine& machine, const BoardProfile& board);
// The memory that the kernel sees, held against the profile's: a dead chip is not a failing test.
Result<> report_size(reports::StepRecorder& recorder, const Machine& machine,
                     const BoardProfile& board);

// Asks the kernel to take the pages of bad words out of use, and says what came of it.
void offline_pages(reports::StepRecorder& recorder, const Machine& machine, const ErrorLog& log);

}  // namespace assay::probes
