#include "reports/json/report.h"

#include "base/clock.h"

namespace assay::reports {
namespace {

using Json = nlohmann::ordered_json;

Json value_json(const Value& value) {
  return std::visit([](const auto& v) { return Json(v); }, value);
}

Json limits_json(const std::vector<Validator>& validators) {
  Json list = Json::array();
  for (const Validator& v : validators) list.push_back(v.name);
  return list;
}

double seconds(std::int64_t from_ns, std::int64_t to_ns) {
  return static_cast<double>(to_ns - from_ns) / 1e9;
}

Json finding_json(const StepRecord& step, const FindingRecord& record) {
  const Finding& f = record.finding;
  return Json{{"code", f.code},
              {"kind", f.kind == FindingKind::fault ? "fault" : "observation"},
              {"step", step.id},
              {"message", f.message},
              {"where", f.where},
              {"evidence", f.evidence},
              {"likely", f.likely},
              {"remedy", f.remedy},
              {"at", timestamp(record.wall_ns)}};
}

Json step_json(const StepRecord& step) {
  Json j{{"id", step.id},
         {"use", step.use},
         {"required", step.required},
         {"verdict", to_word(step.state)}};
  if (step.start_ns != 0) j["started"] = timestamp(step.start_ns);
  if (step.end_ns != 0) j["duration_s"] = seconds(step.start_ns, step.end_ns);
  if (!step.headline.empty()) j["headline"] = step.headline;
  if (!step.skip_reason.empty()) j["skip_reason"] = step.skip_reason;
  Json measurements = Json::array();
  for (const MeasurementRecord& record : step.measurements) {
    const Measurement& m = record.measurement;
    Json one{{"name", m.name}, {"value", value_json(m.value)}, {"unit", m.unit}};
    if (!m.part.empty()) one["part"] = m.part;
    if (!m.validators.empty()) {
      one["limits"] = limits_json(m.validators);
      one["verdict"] = record.within ? "PASS" : "FAIL";
    }
    measurements.push_back(std::move(one));
  }
  j["measurements"] = std::move(measurements);
  Json series = Json::array();
  for (const SeriesRecord& s : step.series) {
    Json one{{"name", s.start.name}, {"unit", s.start.unit}, {"samples", s.count}};
    if (s.count > 0) {
      one["min"] = s.min;
      one["max"] = s.max;
      one["mean"] = s.sum / static_cast<double>(s.count);
      one["last"] = value_json(s.last);
    }
    if (!s.start.validators.empty()) {
      one["limits"] = limits_json(s.start.validators);
      one["outside"] = s.outside;
      one["verdict"] = s.within() ? "PASS" : "FAIL";
    }
    series.push_back(std::move(one));
  }
  j["series"] = std::move(series);
  Json errors = Json::array();
  for (const TestError& e : step.errors) {
    errors.push_back(Json{{"symptom", e.symptom}, {"message", e.message}});
  }
  j["errors"] = std::move(errors);
  if (!step.warnings.empty()) j["warnings"] = step.warnings;
  if (!step.details.empty()) {
    Json details = Json::object();
    for (const auto& [name, content] : step.details) details[name] = Json(content);
    j["details"] = std::move(details);
  }
  return j;
}

}  // namespace

std::string report_json(const RunSummary& run, bool growing) {
  const Verdict verdict = verdict_of(run, growing);
  Json report{{"schema", "assay/report/1"},
              {"verdict", to_word(verdict)},
              {"reason", verdict_reason(run, growing)}};
  const auto dut_id = run.start.dut_info.find("dutInfoId");
  report["serial"] = dut_id != run.start.dut_info.end() ? Json(*dut_id) : Json(nullptr);
  for (const char* key : {"board", "plan", "station", "operator", "virtual"}) {
    const auto found = run.start.parameters.find(key);
    if (found == run.start.parameters.end()) continue;
    Json value(*found);
    if (std::string(key) == "plan" && value.is_object()) value.erase("steps");
    report[key] = std::move(value);
  }
  report["program"] = run.start.version;
  report["command_line"] = run.start.command_line;
  report["device"] = Json(run.start.dut_info);
  report["started"] = run.started ? Json(timestamp(run.start_ns)) : Json(nullptr);
  report["ended"] = run.ended ? Json(timestamp(run.last_ns)) : Json(nullptr);
  report["duration_s"] = run.started ? seconds(run.start_ns, run.last_ns) : 0.0;

  Json faults = Json::array();
  Json observations = Json::array();
  Json steps = Json::array();
  for (const StepRecord& step : run.steps) {
    const StepRecord* const repair = repaired_by(run, step);
    const auto push = [&](Json& list, Json one) {
      if (repair != nullptr) one["repaired_by"] = repair->id;
      list.push_back(std::move(one));
    };
    for (const FindingRecord& f : step.findings) {
      push(f.finding.kind == FindingKind::fault ? faults : observations, finding_json(step, f));
    }
    push(steps, step_json(step));
  }
  report["findings"] = std::move(faults);
  report["observations"] = std::move(observations);
  report["steps"] = std::move(steps);
  Json errors = Json::array();
  for (const TestError& e : run.errors) {
    errors.push_back(Json{{"symptom", e.symptom}, {"message", e.message}});
  }
  report["errors"] = std::move(errors);
  report["journal"] = {{"events", run.events}, {"ended", run.ended}, {"damage", run.damage}};
  return report.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace assay::reports
