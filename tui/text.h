// Values, steps and findings in words: the same on the dashboard, in plain lines and in the output
// of the commands.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "reports/summary/run_summary.h"

namespace assay::tui {

// Columns of plain output.
inline constexpr int line_width = 100;

// "23.8 GiB", "71.3 °C", "8 GT/s": the unit as people write it.
std::string value_text(const reports::Value& value, const std::string& unit);

// "at least 8 GT/s, below 10 GT/s"; empty without limits.
std::string limits_text(const std::vector<reports::Validator>& validators, const std::string& unit);

// "link_speed 2.5 GT/s  (at least 8 GT/s)  0000:01:00.0".
std::string measurement_text(const reports::Measurement& measurement);

// "temperature 91.2 °C, 3 of 120 samples outside (at most 85 °C)".
std::string series_text(const reports::SeriesRecord& series);

// "PASS  memory.pattern        12.3 GB/s 512 MiB   3.2 s", the columns aligned at `id_width`.
std::string step_text(const reports::StepRecord& step, int id_width);

// What speaks against the step: measurements and series outside their limits, errors, the reason
// why it was skipped. Indented lines.
std::vector<std::string> step_remarks(const reports::StepRecord& step);

// What the step measured within its limits, and what it says of what it could not look at. Indented
// lines.
std::vector<std::string> step_figures(const reports::StepRecord& step);

// The message and its Where, Likely, Do and Evidence, wrapped to `width` and indented.
std::vector<std::string> finding_body(const reports::Finding& finding, int width);

// finding_body() under "FAIL  pcie.link      PCIE_LINK_DEGRADED"; an observation is a NOTE.
std::vector<std::string> finding_text(const reports::StepRecord& step,
                                      const reports::Finding& finding, int width = line_width);

// The run's first lines: board, serial number, operator, station, plan.
std::vector<std::string> run_header(const reports::RunSummary& run);

std::string board_name(const reports::RunSummary& run);
std::string serial_number(const reports::RunSummary& run);

// Local time, 12:04:11.
std::string clock_text(std::int64_t wall_ns);

}  // namespace assay::tui
