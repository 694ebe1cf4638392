#include "tests/tui/runs.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include "reports/journal/journal_reader.h"

namespace assay::tui {

using reports::Comparison;
using reports::Limit;
using reports::make_validator;
using reports::Recorder;
using reports::Severity;

TempFolder::TempFolder() {
  std::string name = (std::filesystem::temp_directory_path() / "assay_tui_XXXXXX").string();
  EXPECT_NE(mkdtemp(name.data()), nullptr);
  folder_ = name;
}

TempFolder::~TempFolder() {
  std::filesystem::remove_all(folder_);
}

namespace {

void start_run(Recorder& run) {
  reports::RunStart start;
  start.name = "fat on M6 mini 32GB";
  start.version = "0.1.0";
  start.command_line = "assay run --plan fat";
  start.dut_info = {{"dutInfoId", cjk_serial}};
  start.parameters = {{"board", {{"id", "m6-mini"}, {"name", "M6 mini 32GB"}}},
                      {"plan",
                       {{"id", "fat"},
                        {"steps",
                         {{{"id", "firmware.query"}, {"use", "firmware.query"}},
                          {{"id", "pcie.link"}, {"use", "pcie.link"}},
                          {{"id", "memory.pattern"}, {"use", "memory.test"}},
                          {{"id", "thermal.read"}, {"use", "thermal.read"}},
                          {{"id", "memory.fragmentation"}, {"use", "memory.fragmentation"}},
                          {{"id", "workload.moe"}, {"use", "workload.generate"}}}}}},
                      {"operator", "王小明"},
                      {"station", "L3-07"}};
  run.run_start(std::move(start));
}

void firmware_step(Recorder& run) {
  auto step = run.begin_step(
      "firmware.query", "firmware.query",
      {{"version",
        {make_validator(Comparison::greater_or_equal, std::string("2.3.1"), "", true)}}});
  step->measure("version", std::string("2.3.1"), "");
  step->headline("2.3.1");
  step->end();
}

void link_step(Recorder& run, bool good) {
  auto step =
      run.begin_step("pcie.link", "pcie.link",
                     {{"link_speed", {make_validator(Comparison::greater_or_equal, 8.0, "GT/s")}}});
  step->measure("link_speed", good ? 8.0 : 2.5, "GT/s", {}, "0000:01:00.0");
  step->headline(good ? "8GT/s x4" : "2.5GT/s x1");
  if (!good) {
    step->finding({.code = "PCIE_LINK_DEGRADED",
                   .message = "NPU 0000:01:00.0 runs at 2.5 GT/s x1; the board needs 8.0 GT/s x4 "
                              "(0.25 of 3.94 GB/s each way).",
                   .where = "root port 0000:00:02.0: the hop between them trained low",
                   .evidence = {"LnkSta 0x1011", "LnkCap 0x0043f443"}});
  }
  step->end();
}

void simple_step(Recorder& run, const char* id, const char* headline) {
  auto step = run.begin_step(id, id, {});
  step->headline(headline);
  step->end();
}

// The step with progress and series; the caller ends it, or leaves it running.
std::unique_ptr<reports::StepRecorder> memory_step(Recorder& run) {
  auto step =
      run.begin_step("memory.pattern", "memory.test",
                     {{"errors", {make_validator(Comparison::equal, std::int64_t{0}, "1")}}});
  step->log(Severity::warning, "the memory could not be locked\x1b[31m");
  const auto temperature =
      step->series("temperature", "Cel", {make_validator(Comparison::less_or_equal, 85.0, "Cel")});
  for (int i = 0; i < 60; ++i) temperature->add(60.0 + i % 12);
  step->measure("size", std::int64_t{512} << 20, "By");
  step->progress(71, 100, "March C- ⇑(r0,w1)  pass 3/5");
  return step;
}

}  // namespace

std::unique_ptr<Recorder> write_run(const std::string& journal, RunMoment moment) {
  auto created = Recorder::create(journal);
  EXPECT_TRUE(created.has_value());
  std::unique_ptr<Recorder> run = std::move(*created);
  if (moment == RunMoment::empty) return run;
  start_run(*run);
  if (moment == RunMoment::started) return run;
  firmware_step(*run);
  link_step(*run, moment != RunMoment::failed);
  auto memory = memory_step(*run);
  if (moment == RunMoment::running) return run;
  if (moment == RunMoment::aborted) {
    memory->error("interrupted", "the run was interrupted in this step");
    memory->end();
    run->error("interrupted", "SIGINT");
    run->run_end({});
    return run;
  }
  memory->measure("errors", std::int64_t{0}, "1");
  memory->headline("12.3 GB/s 512 MiB");
  memory->end();
  simple_step(*run, "thermal.read", "61.0 °C");
  if (moment == RunMoment::incomplete) {
    auto step = run->begin_step("memory.fragmentation", "memory.fragmentation", {});
    step->error("unavailable", "/proc/buddyinfo: no such file");
    step->end();
    auto skipped = run->begin_step("workload.moe", "workload.generate", {});
    skipped->skip("no memory for the model");
    skipped->end();
    run->run_end({});
    return run;
  }
  simple_step(*run, "memory.fragmentation", "4 MiB");
  simple_step(*run, "workload.moe", "11.5 tok/s");
  run->run_end({.result = moment == RunMoment::failed ? reports::RunResult::fail
                                                      : reports::RunResult::pass});
  return run;
}

DashboardModel model_of(const std::string& journal, bool growing) {
  DashboardModel model;
  auto reader = reports::JournalReader::open(journal);
  EXPECT_TRUE(reader.has_value());
  const auto lines = reader->poll(
      [&](const Result<reports::Event>& event, std::uint64_t line) { model.apply(event, line); });
  EXPECT_TRUE(lines.has_value());
  if (!growing) {
    EXPECT_TRUE(model.finish(reader->unfinished()));
  }
  return model;
}

}  // namespace assay::tui
