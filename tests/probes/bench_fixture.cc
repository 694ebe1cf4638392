#include "tests/probes/bench_fixture.h"

#include <algorithm>
#include <stdexcept>

namespace assay::test {

const reports::Finding* Outcome::finding(const std::string& code) const {
  for (const auto& record : step.findings) {
    if (record.finding.code == code) return &record.finding;
  }
  return nullptr;
}

const reports::MeasurementRecord* Outcome::measurement(const std::string& name,
                                                       const std::string& part) const {
  for (const auto& record : step.measurements) {
    const auto& m = record.measurement;
    if (m.name == name && (part.empty() || m.part == part)) return &record;
  }
  return nullptr;
}

double Outcome::number(const std::string& name, const std::string& part) const {
  const auto* record = measurement(name, part);
  if (record == nullptr) throw std::runtime_error("no measurement " + name + " " + part);
  const reports::Value& value = record->measurement.value;
  if (const auto* whole = std::get_if<std::int64_t>(&value)) return static_cast<double>(*whole);
  return std::get<double>(value);
}

const reports::SeriesRecord* Outcome::series(const std::string& name) const {
  for (const auto& record : step.series) {
    if (record.start.name == name) return &record;
  }
  return nullptr;
}

bool Outcome::logged(const std::string& text) const {
  return std::any_of(logs.begin(), logs.end(), [&](const reports::LogRecord& log) {
    return log.message.find(text) != std::string::npos;
  });
}

BenchFixture::BenchFixture() : machine_(root_.root()) {}

probes::Bench BenchFixture::bench() {
  return {machine_, board, *npu, ram, workers, uart_port};
}

Outcome BenchFixture::run(const probes::Probe& probe, std::vector<reports::Limit> limits) {
  return record(std::move(limits), [&](reports::StepRecorder& recorder) {
    const probes::Bench shared = bench();
    probes::StepContext context{shared, parameters, recorder, cancel};
    return probe.run(context);
  });
}

Outcome BenchFixture::monitor(const probes::Probe& probe,
                              const std::function<void(probes::Monitor&)>& work,
                              std::vector<reports::Limit> limits) {
  return record({}, [&](reports::StepRecorder& recorder) -> Result<> {
    const probes::Bench shared = bench();
    auto made = probe.monitor(probes::MonitorContext{shared, recorder, limits});
    if (!made) return std::unexpected(made.error());
    work(**made);
    (*made)->finish();
    return {};
  });
}

Outcome BenchFixture::record(std::vector<reports::Limit> limits,
                             const std::function<Result<>(reports::StepRecorder&)>& work) {
  const std::string name = "journal" + std::to_string(++runs_);
  Outcome outcome;
  {
    auto recorder = reports::Recorder::create(journals_ / name);
    if (!recorder) throw std::runtime_error(recorder.error().text());
    (*recorder)->run_start({.name = "test", .version = "0", .command_line = "test"});
    const auto step = (*recorder)->begin_step("step", "probe", std::move(limits));
    outcome.result = work(*step);
    if (!outcome.result) step->error("test", outcome.result.error().text());
    step->end();
    if (const auto error = (*recorder)->write_error()) throw std::runtime_error(error->text());
  }
  auto summary = reports::summarize_journal(journals_ / name);
  if (!summary) throw std::runtime_error(summary.error().text());
  if (!summary->damage.empty()) throw std::runtime_error("damaged: " + summary->damage);
  outcome.journal = journals_.content(name);
  outcome.step = std::move(summary->steps.at(0));
  outcome.logs.assign(summary->logs.begin(), summary->logs.end());
  return outcome;
}

}  // namespace assay::test
