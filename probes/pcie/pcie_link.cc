#include "probes/pcie/pcie_link.h"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <set>
#include <utility>

#include "probes/pcie/devices.h"

namespace assay::probes {
namespace {

using reports::Comparison;

double bandwidth(double speed_gts, int width) {
  return lane_bandwidth_gbps(speed_gts) * width;
}

std::string describe(double speed_gts, int width) {
  return fmt::format("{:.1f} GT/s x{}", speed_gts, width);
}

std::vector<std::string> evidence_of(const PciFunction& function, const PciFunction* port) {
  std::vector<std::string> evidence;
  const Link& link = *function.link;
  evidence.push_back(fmt::format("{}: LnkSta {:#06x}, LnkCap {:#010x} (can do {})",
                                 function.address, link.lnksta, link.lnkcap,
                                 describe(link.max_speed_gts, link.max_width)));
  if (port != nullptr && port->link) {
    evidence.push_back(fmt::format("port {}: LnkSta {:#06x}, LnkCap {:#010x} (can do {})",
                                   port->address, port->link->lnksta, port->link->lnkcap,
                                   describe(port->link->max_speed_gts, port->link->max_width)));
  }
  if (port != nullptr && port->slot_power_limit_w) {
    evidence.push_back(fmt::format("port {}: SltCap power limit {:g} W", port->address,
                                   *port->slot_power_limit_w));
  }
  return evidence;
}

void judge(reports::StepRecorder& recorder, const PcieProfile& want,
           const std::vector<PciFunction>& all, const PciFunction& function) {
  const Link& link = *function.link;
  const PciFunction* port = upstream_port(all, function);
  const bool fast = recorder.measure(
      "link_speed", link.speed_gts, "GT/s",
      {reports::make_validator(Comparison::greater_or_equal, want.speed_gts, "GT/s")},
      function.address);
  const bool wide = recorder.measure(
      "link_width", std::int64_t{link.width}, "lanes",
      {reports::make_validator(Comparison::greater_or_equal, std::int64_t{want.width}, "lanes")},
      function.address);
  recorder.measure("link_bandwidth", bandwidth(link.speed_gts, link.width), "GBy/s", {},
                   function.address);
  if (fast && wide) return;

  reports::Finding finding{
      .code = "PCIE_LINK_DEGRADED",
      .message =
          fmt::format("{} {} runs at {}; the board needs {} ({:.2f} of {:.2f} GB/s each way).",
                      want.name, function.address, describe(link.speed_gts, link.width),
                      describe(want.speed_gts, want.width), bandwidth(link.speed_gts, link.width),
                      bandwidth(want.speed_gts, want.width)),
      .evidence = evidence_of(function, port)};
  finding.where = function.address;
  if (port != nullptr && port->link) {
    finding.where =
        fmt::format("port {} can do {}, {} can do {}: the hop between them trained low",
                    port->address, describe(port->link->max_speed_gts, port->link->max_width),
                    want.name, describe(link.max_speed_gts, link.max_width));
  }
  if (port != nullptr && port->slot_power_limit_w && want.peak_power_w &&
      *port->slot_power_limit_w < *want.peak_power_w) {
    finding.likely = {fmt::format("the slot grants {:g} W and the {} peaks at {:g} W",
                                  *port->slot_power_limit_w, want.name, *want.peak_power_w),
                      "dirty or worn contacts"};
    finding.remedy = {fmt::format("move to a slot with {:g} W or more", *want.peak_power_w),
                      "reseat the card", "power-cycle the board: the link trains again"};
  }
  recorder.finding(std::move(finding));
}

Result<> run_pcie_link(StepContext& context) {
  reports::StepRecorder& recorder = context.recorder;
  const auto all = read_pci_functions(context.bench.machine);
  if (!all || all->empty()) {
    recorder.skip("this machine has no PCI devices");
    return {};
  }
  recorder.measure("functions", static_cast<std::int64_t>(all->size()), "1");
  nlohmann::json list = nlohmann::json::array();
  std::size_t links = 0;
  bool cut = false;
  for (const PciFunction& f : *all) {
    nlohmann::json one{{"address", f.address},
                       {"id", fmt::format("{:04x}:{:04x}", f.vendor, f.device)},
                       {"class", fmt::format("{:#06x}", f.class_code)}};
    if (f.link) {
      ++links;
      one["link"] = describe(f.link->speed_gts, f.link->width);
      one["link_max"] = describe(f.link->max_speed_gts, f.link->max_width);
    }
    cut = cut || f.cut;
    list.push_back(std::move(one));
  }
  recorder.extension("assay.pcie", {{"functions", std::move(list)}});

  const std::vector<PcieProfile>& wanted = context.bench.board.pcie;
  if (cut && links == 0) {
    return fail(ErrorKind::unavailable, "the kernel shows 64 bytes of configuration space only",
                "/sys/bus/pci/devices", "run as root");
  }
  if (wanted.empty()) {
    if (links == 0) {
      recorder.skip(fmt::format("none of the {} PCI devices has a PCI Express link", all->size()));
      return {};
    }
    for (const PciFunction& f : *all) {
      if (!f.link) continue;
      recorder.measure("link_speed", f.link->speed_gts, "GT/s", {}, f.address);
      recorder.measure("link_width", std::int64_t{f.link->width}, "lanes", {}, f.address);
    }
    recorder.headline(fmt::format("{} links", links));
    return {};
  }
  // Each entry takes a device of its own; the last one of a class takes all that are left.
  std::set<std::string> claimed;
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    const PcieProfile& want = wanted[i];
    const bool last_of_class =
        std::none_of(wanted.begin() + static_cast<std::ptrdiff_t>(i) + 1, wanted.end(),
                     [&](const PcieProfile& w) { return w.device_class == want.device_class; });
    const double needed = bandwidth(want.speed_gts, want.width);
    if (want.claimed_gbps && *want.claimed_gbps > needed) {
      recorder.finding(
          {.code = "PCIE_CLAIM_EXCEEDS_LINK",
           .kind = reports::FindingKind::observation,
           .message = fmt::format(
               "The profile claims {:.1f} GB/s for {}; {} carries {:.2f} GB/s each way.",
               *want.claimed_gbps, want.name, describe(want.speed_gts, want.width), needed),
           .where = want.name});
    }
    bool found = false;
    for (const PciFunction& f : *all) {
      if (f.class_code != want.device_class || !f.link || claimed.contains(f.address)) continue;
      if (found && !last_of_class) break;
      found = true;
      claimed.insert(f.address);
      judge(recorder, want, *all, f);
      recorder.headline(fmt::format("{:g}GT/s x{}", f.link->speed_gts, f.link->width));
    }
    if (found) continue;
    recorder.finding(
        {.code = "PCIE_DEVICE_MISSING",
         .message = fmt::format("No device of class {:#06x} ({}) with a PCI Express "
                                "link is there.",
                                want.device_class, want.name),
         .where = want.name,
         .evidence = {fmt::format("{} PCI functions, {} with a link", all->size(), links)}});
  }
  return {};
}

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

Probe pcie_link_probe() {
  return {.name = "pcie.link",
          .summary = "PCI Express links run at the speed and width that the board needs",
          .parameters = {},
          .measurements = {{"functions", "1", "PCI functions seen"},
                           {"link_speed", "GT/s", "LnkSta, current link speed"},
                           {"link_width", "lanes", "LnkSta, negotiated width"},
                           {"link_bandwidth", "GBy/s", "what that carries, each way"}},
          .preflight = nullptr,
          .run = run_pcie_link,
          .monitor = nullptr};
}

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
