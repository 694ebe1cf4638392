#include <fmt/core.h>

#include <algorithm>

#include "base/utf8.h"
#include "reports/journal/journal_reader.h"
#include "reports/summary/run_summary.h"

namespace assay::reports {
namespace {

using nlohmann::json;

// Far above any plan; keeps a hostile journal from making steps without end.
constexpr std::size_t max_steps = 10'000;

std::string text_of(const json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

std::uint64_t count_of(const json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_number_unsigned() ? found->get<std::uint64_t>() : 0;
}

std::vector<std::string> texts_of(const json& object, const char* key) {
  std::vector<std::string> texts;
  const auto found = object.find(key);
  if (found == object.end() || !found->is_array()) return texts;
  for (const json& one : *found) {
    if (one.is_string()) texts.push_back(one.get<std::string>());
  }
  return texts;
}

double number_of(const Value& value) {
  if (const auto* i = std::get_if<std::int64_t>(&value)) return static_cast<double>(*i);
  if (const auto* d = std::get_if<double>(&value)) return *d;
  if (const auto* b = std::get_if<bool>(&value)) return *b ? 1 : 0;
  return 0;
}

StepState ended_state(const StepRecord& step, Status status) {
  const bool outside =
      std::any_of(step.measurements.begin(), step.measurements.end(),
                  [](const MeasurementRecord& m) { return !m.within; }) ||
      std::any_of(step.series.begin(), step.series.end(),
                  [](const SeriesRecord& s) { return !s.within(); }) ||
      std::any_of(step.findings.begin(), step.findings.end(),
                  [](const FindingRecord& f) { return f.finding.kind == FindingKind::fault; });
  // A fault seen stays a fault, also when the test broke off after it.
  if (outside) return StepState::fail;
  if (status == Status::error || !step.errors.empty()) return StepState::error;
  if (status == Status::skip) return StepState::skip;
  return StepState::pass;
}

}  // namespace

void RunFold::damaged(std::string what) {
  if (run_.damage.empty()) run_.damage = to_printable(what);
}

void RunFold::add_log(const Event& event, Severity severity, std::string message) {
  run_.logs.push_back({event.wall_ns, event.step_id.value_or(""), severity, std::move(message)});
  ++run_.log_count;
  if (run_.logs.size() > kept_logs) run_.logs.pop_front();
}

StepRecord& RunFold::step(const std::string& id) {
  if (const auto found = step_index_.find(id); found != step_index_.end()) {
    return run_.steps[found->second];
  }
  step_index_[id] = run_.steps.size();
  StepRecord record;
  record.id = id;
  return run_.steps.emplace_back(std::move(record));
}

void RunFold::apply(const Result<Event>& event, std::uint64_t line) {
  ++lines_;
  if (!event) {
    damaged(fmt::format("line {}: {}", line, event.error().what));
    return;
  }
  if (event->sequence != run_.events) {
    damaged(fmt::format("line {}: event {} where {} belongs", line, event->sequence, run_.events));
  }
  if (run_.ended) damaged(fmt::format("line {}: an event behind the run's end", line));
  run_.events = event->sequence + 1;
  run_.last_ns = event->wall_ns;
  apply(*event);
}

Result<> RunFold::finish(std::string_view unfinished) {
  const auto none = [](std::string why) { return fail(ErrorKind::bad_file, std::move(why)); };
  if (lines_ == 0 && unfinished.empty()) return none("is empty");
  if (lines_ == 0 && !unfinished.starts_with('{')) return none("is not a journal of a run");
  if (lines_ > 0 && !run_.started && !run_.damage.empty()) {
    return none("is not a journal of a run: " + run_.damage);
  }
  if (run_.ended && !unfinished.empty()) damaged("bytes behind the run's end");
  return {};
}

void RunFold::apply(const Event& event) {
  if (event.step_id) {
    if (!run_.started) damaged("a step before the run's start");
    if (run_.steps.size() >= max_steps && !step_index_.contains(*event.step_id)) {
      damaged("more steps than any plan has");
      return;
    }
    apply_to_step(step(*event.step_id), event);
    return;
  }
  if (const auto* start = std::get_if<RunStart>(&event.payload)) {
    if (run_.started) {
      damaged("a second start of the run");
      return;
    }
    run_.started = true;
    run_.start_ns = event.wall_ns;
    run_.start = *start;
    const auto plan = start->parameters.find("plan");
    if (plan != start->parameters.end() && plan->is_object() && plan->contains("steps") &&
        (*plan)["steps"].is_array()) {
      for (const json& planned : (*plan)["steps"]) {
        if (!planned.is_object() || run_.steps.size() >= max_steps) continue;
        StepRecord& record = step(text_of(planned, "id"));
        record.use = text_of(planned, "use");
        const auto required = planned.find("required");
        record.required = required == planned.end() || *required != false;
        if (const auto repairs = planned.find("repairs");
            repairs != planned.end() && repairs->is_object()) {
          record.repairs = text_of(*repairs, "step");
          record.repairs_fault = text_of(*repairs, "finding");
        }
      }
    }
  } else if (const auto* end = std::get_if<RunEnd>(&event.payload)) {
    run_.ended = true;
    run_.end = *end;
  } else if (const auto* error = std::get_if<TestError>(&event.payload)) {
    if (error->symptom == "interrupted") run_.interrupted = true;
    run_.errors.push_back(*error);
    add_log(event, Severity::error, error->symptom + ": " + error->message);
  } else if (const auto* log = std::get_if<Log>(&event.payload)) {
    add_log(event, log->severity, log->message);
  }
}

void RunFold::apply_to_step(StepRecord& step, const Event& event) {
  const bool begins = std::holds_alternative<StepStart>(event.payload);
  if (begins == (step.state == StepState::running) ||
      (begins && step.state != StepState::pending)) {
    damaged("step " + to_printable(step.id) + (begins ? " starts twice" : " is not running"));
  }
  struct Apply {
    RunFold& fold;
    StepRecord& step;
    const Event& event;

    void operator()(const StepStart& v) const {
      step.state = StepState::running;
      step.start_ns = event.wall_ns;
      if (step.use.empty()) step.use = v.name;
    }
    void operator()(const StepEnd& v) const {
      step.end_ns = event.wall_ns;
      step.state = ended_state(step, v.status);
    }
    void operator()(const Measurement& v) const {
      step.measurements.push_back({v, satisfies(v.value, v.validators)});
    }
    void operator()(const SeriesStart& v) const {
      SeriesRecord record;
      record.start = v;
      step.series.push_back(std::move(record));
    }
    void operator()(const SeriesElement& v) const { fold.apply_element(step, v); }
    void operator()(const SeriesEnd& v) const {
      const auto found =
          std::find_if(step.series.begin(), step.series.end(),
                       [&](const SeriesRecord& s) { return s.start.series_id == v.series_id; });
      if (found == step.series.end() || found->count != v.total_count) {
        fold.damaged("series " + to_printable(v.series_id) + " is not whole");
      }
    }
    void operator()(const Diagnosis& v) const {
      // The finding with its evidence came just before; a journal of another writer has none.
      if (step.findings.empty() || step.findings.back().finding.code != v.verdict) {
        Finding finding = complete({.code = v.verdict, .message = v.message});
        step.findings.push_back({std::move(finding), event.wall_ns});
      }
      // The diagnosis decides what it is, whatever the extension said.
      Finding& finding = step.findings.back().finding;
      finding.kind = v.type == DiagnosisType::fail ? FindingKind::fault : FindingKind::observation;
      fold.add_log(event, v.type == DiagnosisType::fail ? Severity::error : Severity::info,
                   v.verdict + ": " + v.message);
    }
    void operator()(const TestError& v) const {
      step.errors.push_back(v);
      fold.add_log(event, Severity::error, v.symptom + ": " + v.message);
    }
    void operator()(const Log& v) const {
      if (v.severity >= Severity::warning && step.warnings.size() < kept_warnings) {
        step.warnings.push_back(v.message);
      }
      fold.add_log(event, v.severity, v.message);
    }
    void operator()(const File&) const {}
    void operator()(const Extension& v) const { fold.apply_extension(step, v, event.wall_ns); }
    void operator()(const SchemaVersion&) const {}
    void operator()(const RunStart&) const {}
    void operator()(const RunEnd&) const {}
  };
  std::visit(Apply{*this, step, event}, event.payload);
}

void RunFold::apply_extension(StepRecord& step, const Extension& extension, std::int64_t wall_ns) {
  const json& content = extension.content;
  if (extension.name == "assay.finding") {
    Finding finding{.code = text_of(content, "code"),
                    .kind = FindingKind::observation,  // until its diagnosis says otherwise
                    .message = text_of(content, "message"),
                    .where = text_of(content, "where"),
                    .evidence = texts_of(content, "evidence"),
                    .likely = texts_of(content, "likely"),
                    .remedy = texts_of(content, "remedy")};
    // A cut between the two lines must not lose the fault.
    if (text_of(content, "kind") != "observation") finding.kind = FindingKind::fault;
    step.findings.push_back({std::move(finding), wall_ns});
  } else if (extension.name == "assay.progress") {
    step.progress = {count_of(content, "done"), count_of(content, "total"),
                     text_of(content, "text")};
  } else if (extension.name == "assay.headline") {
    step.headline = text_of(content, "text");
  } else if (extension.name == "assay.detail") {
    const auto detail = content.find("content");
    const std::string name = text_of(content, "name");
    if (detail != content.end() &&
        (step.details.size() < kept_details || step.details.contains(name))) {
      step.details[name] = *detail;
    }
  } else if (extension.name == "assay.skip") {
    step.skip_reason = text_of(content, "reason");
  }
}

void RunFold::apply_element(StepRecord& step, const SeriesElement& element) {
  const auto found =
      std::find_if(step.series.begin(), step.series.end(),
                   [&](const SeriesRecord& s) { return s.start.series_id == element.series_id; });
  if (found == step.series.end()) {
    damaged("a sample of the unknown series " + to_printable(element.series_id));
    return;
  }
  SeriesRecord& series = *found;
  if (element.index != series.count) {
    damaged("series " + to_printable(element.series_id) + " lacks a sample");
  }
  const double number = number_of(element.value);
  series.min = series.count == 0 ? number : std::min(series.min, number);
  series.max = series.count == 0 ? number : std::max(series.max, number);
  series.sum += number;
  ++series.count;
  if (!satisfies(element.value, series.start.validators)) ++series.outside;
  series.last = element.value;
  series.recent.push_back(number);
  if (series.recent.size() > recent_samples) series.recent.pop_front();
}

Result<RunSummary> summarize_journal(const std::string& path) {
  auto reader = JournalReader::open(path);
  if (!reader) return std::unexpected(reader.error());
  RunFold fold;
  const auto lines = reader->poll(
      [&](const Result<Event>& event, std::uint64_t line) { fold.apply(event, line); });
  if (!lines) return std::unexpected(lines.error());
  if (auto finished = fold.finish(reader->unfinished()); !finished) {
    finished.error().where = path;
    return std::unexpected(finished.error());
  }
  return fold.summary();
}

}  // namespace assay::reports
