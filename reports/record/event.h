// The events of a run: the artifacts of the OCP Test & Validation output format 2.0 (JSON lines),
// as types. What has no field there is an Extension.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/result.h"
#include "reports/record/limits.h"

namespace assay::reports {

enum class Status { complete, error, skip };
enum class RunResult { not_applicable, pass, fail };
enum class DiagnosisType { pass, fail, unknown };
enum class Severity { debug, info, warning, error, fatal };

struct SchemaVersion {
  int major = 2;
  int minor = 0;
};

struct RunStart {
  std::string name;
  std::string version;
  std::string command_line;
  nlohmann::json parameters = nlohmann::json::object();
  nlohmann::json dut_info = nlohmann::json::object();  // dutInfoId is required
};

struct RunEnd {
  Status status = Status::complete;
  RunResult result = RunResult::not_applicable;
};

struct StepStart {
  std::string name;
};

struct StepEnd {
  Status status = Status::complete;
};

struct Measurement {
  std::string name;
  Value value;
  std::string unit;  // may be empty
  std::vector<Validator> validators;
  std::string part;  // of the board, where there are several: "0000:01:00.0"; may be empty
};

struct SeriesStart {
  std::string name;
  std::string unit;
  std::string series_id;
  std::vector<Validator> validators;
};

struct SeriesElement {
  std::string series_id;
  std::uint64_t index = 0;
  Value value;
  std::int64_t wall_ns = 0;
};

struct SeriesEnd {
  std::string series_id;
  std::uint64_t total_count = 0;
};

struct Diagnosis {
  std::string verdict;  // the finding's code
  DiagnosisType type = DiagnosisType::unknown;
  std::string message;
};

// What went wrong with the test itself, not with the board.
struct TestError {
  std::string symptom;
  std::string message;
};

struct Log {
  Severity severity = Severity::info;
  std::string message;
};

struct File {
  std::string display_name;
  std::string uri;
  std::string description;
  bool is_snapshot = true;
};

struct Extension {
  std::string name;  // "assay.progress", "assay.finding", "assay.skip"
  nlohmann::json content = nlohmann::json::object();
};

using Payload =
    std::variant<SchemaVersion, RunStart, RunEnd, StepStart, StepEnd, Measurement, SeriesStart,
                 SeriesElement, SeriesEnd, Diagnosis, TestError, Log, File, Extension>;

struct Event {
  std::uint64_t sequence = 0;
  std::int64_t wall_ns = 0;
  std::optional<std::string> step_id;  // set for everything that belongs to a step
  Payload payload;
};

// One line without its newline. Strings that are not UTF-8 are made so.
std::string to_line(const Event& event);

// The inverse. Refuses lines over max_line_bytes, nesting over 64 levels and events that are not
// OCP's.
Result<Event> parse_line(std::string_view line);

inline constexpr std::size_t max_line_bytes = 1 << 20;

}  // namespace assay::reports
