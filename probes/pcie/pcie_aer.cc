#include <fmt/core.h>

#include <utility>

#include "probes/pcie/pcie_link.h"

namespace assay::probes {
namespace {

// Sums the corrected errors of every device that counts them.
class AerMonitor final : public Monitor {
 public:
  AerMonitor(const MonitorContext& context, std::vector<std::string> files)
      : machine_(context.bench.machine),
        recorder_(context.recorder),
        files_(std::move(files)),
        counts_(files_.size()) {
    start_ = total();
    series_ =
        context.recorder.series("corrected_errors", "1", context.limits_for("corrected_errors"));
  }

  Result<> sample() override {
    const std::int64_t errors = total() - start_;
    if (!series_->add(errors) && !std::exchange(reported_, true)) report(errors);
    return {};
  }

  // "TOTAL_ERR_COR 3" ends /sys/bus/pci/devices/*/aer_dev_correctable.
  static std::optional<std::int64_t> corrected(const std::string& text) {
    constexpr std::string_view name = "TOTAL_ERR_COR ";
    const std::size_t at = text.find(name);
    if (at == std::string::npos) return std::nullopt;
    std::int64_t value = 0;
    for (std::size_t i = at + name.size();
         i < text.size() && text[i] >= '0' && text[i] <= '9' && value < 1'000'000'000'000; ++i) {
      value = value * 10 + (text[i] - '0');
    }
    return value;
  }

 private:
  // A device that vanished keeps the count that it had.
  std::int64_t total() {
    std::int64_t sum = 0;
    for (std::size_t i = 0; i < files_.size(); ++i) {
      if (const auto text = machine_.read(files_[i])) {
        counts_[i] = corrected(*text).value_or(counts_[i]);
      }
      sum += counts_[i];
    }
    return sum;
  }

  void report(std::int64_t errors) {
    reports::Finding finding{
        .code = "PCIE_AER_ERRORS",
        .message = fmt::format("{} corrected PCI Express errors since the step began.", errors)};
    for (std::size_t i = 0; i < files_.size(); ++i) {
      if (counts_[i] != 0) finding.evidence.push_back(fmt::format("{}: {}", files_[i], counts_[i]));
    }
    recorder_.finding(std::move(finding));
  }

  const Machine& machine_;
  reports::StepRecorder& recorder_;
  std::vector<std::string> files_;
  std::vector<std::int64_t> counts_;  // of each file, as last read
  std::int64_t start_ = 0;
  std::unique_ptr<reports::Series> series_;
  bool reported_ = false;
};

Result<std::unique_ptr<Monitor>> make_aer_monitor(const MonitorContext& context) {
  constexpr const char* folder = "/sys/bus/pci/devices";
  std::vector<std::string> files;
  for (const std::string& name :
       context.bench.machine.list(folder).value_or(std::vector<std::string>())) {
    std::string file = std::string(folder) + "/" + name + "/aer_dev_correctable";
    if (context.bench.machine.exists(file)) files.push_back(std::move(file));
  }
  if (files.empty()) return fail(ErrorKind::unavailable, "no device reports AER counters", folder);
  return std::make_unique<AerMonitor>(context, std::move(files));
}

}  // namespace

Probe pcie_aer_probe() {
  return {.name = "pcie.aer",
          .summary = "corrected errors that PCI Express devices report",
          .parameters = {},
          .measurements = {{"corrected_errors", "1", "since the step began"}},
          .preflight = nullptr,
          .run = nullptr,
          .monitor = make_aer_monitor};
}

}  // namespace assay::probes
