#include <fmt/core.h>

#include <array>
#include <utility>

#include "base/clock.h"
#include "probes/pcie/error_rate.h"
#include "probes/pcie/pcie_link.h"

namespace assay::probes {
namespace {

// /sys/bus/pci/devices/*/aer_dev_* (kernel documentation, ABI/testing/sysfs-bus-pci-devices-aer):
// a line for each kind of error, and their sum in the last one.
struct ErrorClass {
  const char* file;
  const char* total;
  const char* name;
};
constexpr std::array<ErrorClass, 3> error_classes = {
    {{"aer_dev_correctable", "TOTAL_ERR_COR ", "corrected"},
     {"aer_dev_nonfatal", "TOTAL_ERR_NONFATAL ", "non-fatal"},
     {"aer_dev_fatal", "TOTAL_ERR_FATAL ", "fatal"}}};
constexpr std::size_t corrected = 0;

std::optional<std::int64_t> total_in(const std::string& text, std::string_view name) {
  const std::size_t at = text.find(name);
  if (at == std::string::npos) return std::nullopt;
  std::int64_t value = 0;
  for (std::size_t i = at + name.size();
       i < text.size() && text[i] >= '0' && text[i] <= '9' && value < 1'000'000'000'000; ++i) {
    value = value * 10 + (text[i] - '0');
  }
  return value;
}

// A counter of one device and class.
struct Counter {
  std::string path;
  std::size_t error_class = 0;
  std::int64_t at_first = 0;
  std::int64_t now = 0;

  std::int64_t since() const { return now - at_first; }
};

class AerMonitor final : public Monitor {
 public:
  AerMonitor(const MonitorContext& context, std::vector<Counter> counters)
      : machine_(context.bench.machine),
        recorder_(context.recorder),
        counters_(std::move(counters)),
        start_ns_(monotonic_ns()) {
    read();
    for (Counter& counter : counters_) counter.at_first = counter.now;
    series_ =
        context.recorder.series("corrected_errors", "1", context.limits_for("corrected_errors"));
  }

  ~AerMonitor() override {
    const double seconds = static_cast<double>(monotonic_ns() - start_ns_) / ns_per_s;
    nlohmann::json content{{"seconds", seconds}};
    for (std::size_t c = 0; c < error_classes.size(); ++c) {
      const std::int64_t errors = since(c);
      content[error_classes[c].name] = {
          {"errors", errors},
          {"per_hour", static_cast<double>(errors) / seconds * 3600},
          // None in a short time is no proof that there are none.
          {"per_hour_at_most_95", poisson_upper_bound(errors) / seconds * 3600}};
    }
    recorder_.detail("aer", std::move(content));
  }

  Result<> sample() override {
    read();
    // A corrected error is the plan's to judge; of the others none is right.
    const bool within = series_->add(since(corrected));
    const bool lost = since(1) > 0 || since(2) > 0;
    if ((!within || lost) && !std::exchange(reported_, true)) report();
    return {};
  }

 private:
  // A device that vanished keeps the count that it had.
  void read() {
    for (Counter& counter : counters_) {
      const auto text = machine_.read(counter.path);
      if (!text) continue;
      const auto total = total_in(*text, error_classes[counter.error_class].total);
      counter.now = total.value_or(counter.now);
    }
  }

  std::int64_t since(std::size_t error_class) const {
    std::int64_t sum = 0;
    for (const Counter& counter : counters_) {
      if (counter.error_class == error_class) sum += counter.since();
    }
    return sum;
  }

  void report() {
    std::string kinds;
    for (std::size_t c = 0; c < error_classes.size(); ++c) {
      if (since(c) == 0) continue;
      kinds += fmt::format("{}{} {}", kinds.empty() ? "" : ", ", since(c), error_classes[c].name);
    }
    reports::Finding finding{
        .code = "PCIE_AER_ERRORS",
        .message = fmt::format("PCI Express errors since the step began: {}.", kinds)};
    for (const Counter& counter : counters_) {
      if (counter.since() == 0) continue;
      finding.evidence.push_back(
          fmt::format("{}: {} at first, {} now", counter.path, counter.at_first, counter.now));
    }
    recorder_.finding(std::move(finding));
  }

  const Machine& machine_;
  reports::StepRecorder& recorder_;
  std::vector<Counter> counters_;
  std::int64_t start_ns_;
  std::unique_ptr<reports::Series> series_;
  bool reported_ = false;
};

Result<std::unique_ptr<Monitor>> make_aer_monitor(const MonitorContext& context) {
  constexpr const char* folder = "/sys/bus/pci/devices";
  std::vector<Counter> counters;
  for (const std::string& name :
       context.bench.machine.list(folder).value_or(std::vector<std::string>())) {
    for (std::size_t c = 0; c < error_classes.size(); ++c) {
      std::string path = fmt::format("{}/{}/{}", folder, name, error_classes[c].file);
      if (context.bench.machine.exists(path)) counters.push_back({std::move(path), c});
    }
  }
  if (counters.empty()) {
    return fail(ErrorKind::unavailable, "no device reports AER counters", folder);
  }
  return std::make_unique<AerMonitor>(context, std::move(counters));
}

}  // namespace

Probe pcie_aer_probe() {
  return {.name = "pcie.aer",
          .summary = "errors that PCI Express devices report",
          .parameters = {},
          .measurements = {{"corrected_errors", "1", "since the step began"}},
          .preflight = nullptr,
          .run = nullptr,
          .monitor = make_aer_monitor};
}

}  // namespace assay::probes
