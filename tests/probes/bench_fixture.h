// A bench for one probe: a machine of fixture files, a board profile that the test fills in, and
// what the probe recorded, read back from the journal that it wrote.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "probes/framework/context.h"
#include "reports/summary/run_summary.h"
#include "runtime/device/host_device.h"
#include "tests/base/scratch.h"

namespace assay::test {

// RAM that does something of its own at some lines: when one was written, or is about to be read.
class FaultyRam final : public probes::Ram, private probes::LineHook {
 public:
  using AtLine = std::function<void(std::byte* region, std::size_t line)>;
  std::vector<std::size_t> at;  // sorted
  AtLine on_write;
  AtLine on_read;
  // Nanoseconds of a turn between two lines.
  std::function<double(std::byte*, std::size_t, std::size_t, std::uint64_t)> on_turns;

  // What the machine has left, where a test says so. Not called by two threads at once.
  std::function<std::uint64_t()> left;

  Result<std::uint64_t> usable() const override {
    const std::lock_guard lock(asking_);
    return left ? Result<std::uint64_t>(left()) : Ram::usable();
  }
  probes::LineHook* hook() override { return at.empty() && !on_turns ? nullptr : this; }

 private:
  std::span<const std::size_t> lines(std::size_t) override { return at; }
  void written(std::byte* region, std::size_t line) override {
    if (on_write) on_write(region, line);
  }
  void about_to_read(std::byte* region, std::size_t line) override {
    if (on_read) on_read(region, line);
  }
  double read_in_turn(std::byte* region, std::size_t a, std::size_t b,
                      std::uint64_t turns) override {
    return on_turns ? on_turns(region, a, b, turns) : 0;
  }

  mutable std::mutex asking_;
};

struct Outcome {
  Result<> result;           // what the probe returned
  reports::StepRecord step;  // what the journal says of the step
  std::vector<reports::LogRecord> logs;
  std::string journal;

  // The finding of that code; null when there is none.
  const reports::Finding* finding(const std::string& code) const;
  // The first measurement of that name (and part); null when there is none.
  const reports::MeasurementRecord* measurement(const std::string& name,
                                                const std::string& part = {}) const;
  double number(const std::string& name, const std::string& part = {}) const;
  const reports::SeriesRecord* series(const std::string& name) const;
  bool logged(const std::string& text) const;
};

class BenchFixture {
 public:
  BenchFixture();

  // Files of the machine that the probe sees, by absolute path: write("/proc/buddyinfo", ...).
  void write(const std::string& path, const std::string& content) { root_.write(path, content); }
  const Scratch& root() const { return root_; }

  probes::Bench bench();
  // Runs the probe as a step. The step is ended as the runner does it.
  Outcome run(const probes::Probe& probe, std::vector<reports::Limit> limits = {});
  // Makes the probe's monitor, hands it to `work`, and ends the step. Without a monitor, `work` is
  // not called and the result is the error.
  Outcome monitor(const probes::Probe& probe, const std::function<void(probes::Monitor&)>& work,
                  std::vector<reports::Limit> limits = {});

  probes::BoardProfile board;
  probes::Parameters parameters;
  CancelToken cancel;
  runtime::HostDevice host;
  runtime::NpuDevice* npu = &host;
  FaultyRam ram;
  WorkerPool workers{2};
  std::string uart_port;

 private:
  Outcome record(std::vector<reports::Limit> limits,
                 const std::function<Result<>(reports::StepRecorder&)>& work);

  Scratch root_;
  Scratch journals_;
  Machine machine_;
  int runs_ = 0;
};

}  // namespace assay::test
