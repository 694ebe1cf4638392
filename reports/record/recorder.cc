#include "reports/record/recorder.h"

#include <fmt/core.h>

#include <cmath>

#include "base/clock.h"
#include "base/utf8.h"

namespace assay::reports {
namespace {

constexpr std::int64_t progress_interval_ns = ns_per_s / 4;

bool is_finite(const Value& value) {
  const auto* number = std::get_if<double>(&value);
  return number == nullptr || std::isfinite(*number);
}

}  // namespace

Result<std::unique_ptr<Recorder>> Recorder::create(const std::string& journal_path) {
  auto writer = JournalWriter::create(journal_path);
  if (!writer) return std::unexpected(writer.error());
  std::unique_ptr<Recorder> recorder(new Recorder(std::move(*writer)));
  recorder->emit(std::nullopt, SchemaVersion{});
  if (const auto error = recorder->write_error()) return std::unexpected(*error);
  return recorder;
}

void Recorder::run_start(RunStart start) {
  emit(std::nullopt, std::move(start));
  sync();
}

void Recorder::run_end(RunEnd end) {
  emit(std::nullopt, end);
  sync();
}

void Recorder::error(std::string symptom, std::string message) {
  emit(std::nullopt, TestError{std::move(symptom), std::move(message)});
}

void Recorder::log(Severity severity, std::string message) {
  emit(std::nullopt, Log{severity, std::move(message)});
}

std::unique_ptr<StepRecorder> Recorder::begin_step(std::string id, std::string name,
                                                   std::vector<Limit> limits) {
  return std::make_unique<StepRecorder>(*this, std::move(id), std::move(name), std::move(limits));
}

std::optional<Error> Recorder::write_error() const {
  const std::lock_guard lock(mutex_);
  return write_error_;
}

std::optional<std::string> Recorder::found_by(std::string_view code) const {
  const std::lock_guard lock(mutex_);
  const auto found = finding_steps_.find(code);
  if (found == finding_steps_.end()) return std::nullopt;
  return found->second;
}

void Recorder::note_finding(const std::string& code, const std::string& step_id) {
  const std::lock_guard lock(mutex_);
  finding_steps_.try_emplace(code, step_id);
}

void Recorder::emit(std::optional<std::string> step_id, Payload payload) {
  Event event{0, wall_ns(), std::move(step_id), std::move(payload)};
  const std::lock_guard lock(mutex_);
  if (write_error_) return;
  event.sequence = next_sequence_++;
  if (auto written = writer_.append(to_line(event)); !written) fail_to_write(written.error());
}

void Recorder::sync() {
  const std::lock_guard lock(mutex_);
  if (write_error_) return;
  if (auto synced = writer_.sync(); !synced) fail_to_write(synced.error());
}

void Recorder::fail_to_write(const Error& error) {
  write_error_ = error;
  broken_.cancel();
}

Series::Series(StepRecorder& step, SeriesStart start) : step_(step), start_(std::move(start)) {
  step_.emit(start_);
}

Series::~Series() {
  step_.emit(SeriesEnd{start_.series_id, count_});
}

bool Series::add(Value value) {
  if (!is_finite(value)) {
    step_.error("non-finite-measurement", start_.name + " is not a finite number");
    return false;
  }
  const bool within = satisfies(value, start_.validators);
  step_.emit(SeriesElement{start_.series_id, count_.fetch_add(1), std::move(value), wall_ns()});
  if (!within) step_.failed_ = true;
  return within;
}

StepRecorder::StepRecorder(Recorder& run, std::string id, std::string name,
                           std::vector<Limit> limits)
    : run_(run), id_(std::move(id)), limits_(std::move(limits)) {
  emit(StepStart{std::move(name)});
}

std::vector<std::string> StepRecorder::unmeasured() const {
  const std::lock_guard lock(noted_mutex_);
  std::vector<std::string> names;
  for (const Limit& limit : limits_) {
    if (!measured_.contains(limit.measurement)) names.push_back(limit.measurement);
  }
  return names;
}

std::vector<Validator> StepRecorder::limits_for(const std::string& name,
                                                std::vector<Validator> more) {
  {
    const std::lock_guard lock(noted_mutex_);
    measured_.insert(name);
  }
  for (const Limit& limit : limits_) {
    if (limit.measurement == name) {
      more.insert(more.end(), limit.validators.begin(), limit.validators.end());
    }
  }
  return more;
}

bool StepRecorder::measure(const std::string& name, Value value, const std::string& unit,
                           std::vector<Validator> from_profile, const std::string& part) {
  if (!is_finite(value)) {
    error("non-finite-measurement", name + " is not a finite number");
    return false;
  }
  Measurement m{name, std::move(value), unit, limits_for(name, std::move(from_profile)), part};
  const bool within = satisfies(m.value, m.validators);
  if (!within) failed_ = true;
  emit(std::move(m));
  return within;
}

std::unique_ptr<Series> StepRecorder::series(const std::string& name, const std::string& unit,
                                             std::vector<Validator> from_profile) {
  return std::make_unique<Series>(
      *this, SeriesStart{name, unit, fmt::format("{}/{}", id_, series_made_.fetch_add(1)),
                         limits_for(name, std::move(from_profile))});
}

void StepRecorder::finding(Finding given) {
  Finding finding = complete(std::move(given));
  const bool fault = finding.kind == FindingKind::fault;
  run_.note_finding(finding.code, id_);
  if (fault) {
    failed_ = true;
    const std::lock_guard lock(noted_mutex_);
    faults_.insert(finding.code);
  }
  extension("assay.finding", {{"code", finding.code},
                              {"kind", fault ? "fault" : "observation"},
                              {"message", to_valid_utf8(finding.message)},
                              {"where", to_valid_utf8(finding.where)},
                              {"evidence", finding.evidence},
                              {"likely", finding.likely},
                              {"remedy", finding.remedy}});
  emit(Diagnosis{finding.code, fault ? DiagnosisType::fail : DiagnosisType::unknown,
                 finding.message});
}

std::set<std::string> StepRecorder::faults() const {
  const std::lock_guard lock(noted_mutex_);
  return faults_;
}

void StepRecorder::error(std::string symptom, std::string message) {
  errored_ = true;
  emit(TestError{std::move(symptom), std::move(message)});
}

void StepRecorder::log(Severity severity, std::string message) {
  emit(Log{severity, std::move(message)});
}

void StepRecorder::file(File file) {
  emit(std::move(file));
}

void StepRecorder::extension(std::string name, nlohmann::json content) {
  emit(Extension{std::move(name), std::move(content)});
}

void StepRecorder::detail(std::string_view name, nlohmann::json content) {
  extension("assay.detail", {{"name", name}, {"content", std::move(content)}});
}

void StepRecorder::headline(std::string_view text) {
  extension("assay.headline", {{"text", to_valid_utf8(text)}});
}

void StepRecorder::progress(std::uint64_t done, std::uint64_t total, std::string_view text) {
  const std::int64_t now = monotonic_ns();
  std::int64_t last = last_progress_ns_.load();
  if (last != 0 && now - last < progress_interval_ns) return;
  // Of several threads that come at once, one writes.
  if (!last_progress_ns_.compare_exchange_strong(last, now)) return;
  extension("assay.progress", {{"done", done}, {"total", total}, {"text", to_valid_utf8(text)}});
}

void StepRecorder::skip(std::string_view reason) {
  skipped_ = true;
  extension("assay.skip", {{"reason", to_valid_utf8(reason)}});
}

void StepRecorder::end() {
  emit(StepEnd{errored_ ? Status::error : skipped_ ? Status::skip : Status::complete});
  run_.sync();
}

}  // namespace assay::reports
