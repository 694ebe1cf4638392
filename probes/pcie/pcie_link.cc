#include "probes/pcie/pcie_link.h"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <set>
#include <thread>

#include "probes/pcie/devices.h"
#include "probes/pcie/function_json.h"
#include "probes/pcie/link_judge.h"

namespace assay::probes {
namespace {

// Between two readings of a link: long enough for a device to come up.
constexpr auto reading_interval = std::chrono::milliseconds(50);

bool is_of(const PciFunction& function, const PcieProfile& want) {
  return function.class_code == want.device_class &&
         (want.device_id.empty() ||
          want.device_id == fmt::format("{:04x}:{:04x}", function.vendor, function.device));
}

void measure_links(reports::StepRecorder& recorder, const std::vector<PciFunction>& all) {
  std::size_t links = 0;
  for (const PciFunction& f : all) {
    const Link* link = f.link();
    if (link == nullptr) continue;
    recorder.measure("link_speed", link->speed_gts, "GT/s", {}, f.address);
    recorder.measure("link_width", std::int64_t{link->width}, "lanes", {}, f.address);
    ++links;
  }
  recorder.headline(fmt::format("{} links", links));
}

Result<> run_pcie_link(StepContext& context) {
  reports::StepRecorder& recorder = context.recorder;
  const std::vector<PcieProfile>& wanted = context.bench.board.pcie;
  const bool none_must_be =
      std::all_of(wanted.begin(), wanted.end(), [](const PcieProfile& w) { return w.optional; });
  auto all = read_pci_functions(context.bench.machine);
  if (none_must_be && (!all || all->empty())) {
    recorder.skip("this machine has no PCI devices");
    return {};
  }
  // A kernel without PCI has not looked; a bus on which nothing answers has been looked at.
  if (!all) return std::unexpected(all.error());
  recorder.measure("functions", static_cast<std::int64_t>(all->size()), "1");
  nlohmann::json list = nlohmann::json::array();
  std::size_t links = 0;
  bool cut = false;
  for (const PciFunction& f : *all) {
    if (f.link() != nullptr) ++links;
    cut = cut || f.cut;
    list.push_back(to_json(f));
  }
  recorder.extension("assay.pcie", {{"functions", std::move(list)}});

  if (cut && links == 0) {
    return fail(ErrorKind::unavailable, "the kernel shows 64 bytes of configuration space only",
                "/sys/bus/pci/devices", "run as root");
  }
  if (none_must_be && links == 0) {
    recorder.skip(fmt::format("none of the {} PCI devices has a PCI Express link", all->size()));
    return {};
  }
  const LinkJudge judge{recorder, context.bench.machine, [&] {
                          std::this_thread::sleep_for(reading_interval);
                          return !context.cancelled();
                        }};
  // Each entry takes a device of its own; the last one of a class takes all that are left.
  std::set<std::string> claimed;
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    const PcieProfile& want = wanted[i];
    const bool last_of_class =
        std::none_of(wanted.begin() + static_cast<std::ptrdiff_t>(i) + 1, wanted.end(),
                     [&](const PcieProfile& w) {
                       return w.device_class == want.device_class && w.device_id == want.device_id;
                     });
    const double needed = lane_bandwidth_gbps(want.speed_gts) * want.width;
    if (want.claimed_gbps && *want.claimed_gbps > needed) {
      recorder.finding(
          {.code = "PCIE_CLAIM_EXCEEDS_LINK",
           .kind = reports::FindingKind::observation,
           .message = fmt::format(
               "The profile claims {:.1f} GB/s for {}; {} carries {:.2f} GB/s each way.",
               *want.claimed_gbps, want.name, describe_link(want.speed_gts, want.width), needed),
           .where = want.name});
    }
    bool found = false;
    for (const PciFunction& f : *all) {
      if (!is_of(f, want) || f.link() == nullptr || claimed.contains(f.address)) continue;
      if (found && !last_of_class) break;
      found = true;
      claimed.insert(f.address);
      judge.judge(want, *all, f.address);
      recorder.headline(fmt::format("{:g}GT/s x{}", f.link()->speed_gts, f.link()->width));
    }
    if (found) continue;
    if (want.optional) {
      recorder.log(reports::Severity::info, want.name + ": the slot is empty");
      continue;
    }
    recorder.finding(
        {.code = "PCIE_DEVICE_MISSING",
         .message = fmt::format("No device of class {:#06x} ({}) with a PCI Express "
                                "link is there.",
                                want.device_class, want.name),
         .where = want.name,
         .evidence = {fmt::format("{} PCI functions, {} with a link", all->size(), links)}});
  }
  // Nothing is held against a profile: tell what is there.
  if (none_must_be && claimed.empty()) measure_links(recorder, *all);
  return {};
}

}  // namespace

Probe pcie_link_probe() {
  return {.name = "pcie.link",
          .summary = "PCI Express links run at the speed and width that the board needs",
          .parameters = {},
          .measurements = {{"functions", "1", "PCI functions seen"},
                           {"link_speed", "GT/s", "LnkSta, current link speed"},
                           {"link_width", "lanes", "LnkSta, negotiated width"},
                           {"link_bandwidth", "GBy/s", "what that carries, each way"},
                           {"path_bandwidth", "GBy/s", "of the narrowest hop from the root"},
                           {"slot_power", "W", "SltCap, what the slot grants"}},
          .preflight = nullptr,
          .run = run_pcie_link,
          .monitor = nullptr};
}

}  // namespace assay::probes
