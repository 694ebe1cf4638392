#include "probes/pcie/link_judge.h"

#include <fmt/core.h>

#include <algorithm>

#include "probes/pcie/devices.h"
#include "probes/pcie/link_sample.h"
#include "probes/pcie/path.h"

namespace assay::probes {
namespace {

using reports::Comparison;

double bandwidth(double speed_gts, int width) {
  return lane_bandwidth_gbps(speed_gts) * width;
}

std::string describe_hop(const Hop& hop) {
  return fmt::format("{} to {} at {}", hop.port != nullptr ? hop.port->address : "root",
                     hop.below->address, describe_link(hop.speed_gts, hop.width));
}

std::string registers_of(const char* what, const PciFunction& function) {
  const Link& link = *function.link();
  return fmt::format("{}{}: LnkSta {:#06x}, LnkCap {:#010x} (can do {})", what, function.address,
                     link.lnksta, link.lnkcap, describe_link(link.max_speed_gts, link.max_width));
}

std::vector<std::string> evidence_of(const std::vector<Hop>& path, const PciFunction* slot_port) {
  std::vector<std::string> evidence;
  for (auto hop = path.rbegin(); hop != path.rend(); ++hop) {
    evidence.push_back(registers_of("", *hop->below));
    if (hop->port != nullptr && hop->port->link() != nullptr) {
      evidence.push_back(registers_of("port ", *hop->port));
    }
  }
  if (slot_port != nullptr && slot_port->slot()->power_limit_w) {
    evidence.push_back(fmt::format("port {}: SltCap power limit {:g} W", slot_port->address,
                                   *slot_port->slot()->power_limit_w));
  }
  return evidence;
}

// A link that was told to run slowly: its Target Link Speed is what it runs at, below what both
// ends can do (LnkCtl2 of the upper end counts, 7.5.3.19).
bool is_held_down(const Hop& hop) {
  if (hop.port == nullptr || !hop.port->express || !hop.port->express->link2) return false;
  const double target = hop.port->express->link2->target_speed_gts;
  return target > 0 && target == hop.speed_gts && target < hop.possible_speed_gts;
}

std::string where_of(const Hop& hop, const PcieProfile& want, const std::string& address) {
  if (hop.port == nullptr || hop.port->link() == nullptr) return hop.below->address;
  const Link& upper = *hop.port->link();
  const Link& lower = *hop.below->link();
  return fmt::format("port {} can do {}, {} can do {}: the hop between them trained low",
                     hop.port->address, describe_link(upper.max_speed_gts, upper.max_width),
                     hop.below->address == address ? want.name : hop.below->address,
                     describe_link(lower.max_speed_gts, lower.max_width));
}

// What a slot holds is as good as its card and its port together can be: cards have fewer lanes
// and older generations than the slot, and the way to it may be a switch's.
PcieProfile held_to(const PcieProfile& want, const std::vector<Hop>& path) {
  PcieProfile held = want;
  if (!want.optional || path.empty()) return held;
  const Hop& own = path.back();
  if (own.possible_speed_gts > 0) held.speed_gts = std::min(want.speed_gts, own.possible_speed_gts);
  if (own.possible_width > 0) held.width = std::min(want.width, own.possible_width);
  return held;
}

double needed_of(const PcieProfile& want, const std::vector<Hop>& path) {
  double needed = bandwidth(want.speed_gts, want.width);
  if (!want.optional) return needed;
  for (const Hop& hop : path) {
    if (hop.possible_bandwidth_gbps() > 0) needed = std::min(needed, hop.possible_bandwidth_gbps());
  }
  return needed;
}

std::optional<double> granted_w(const PciFunction* slot_port) {
  return slot_port == nullptr ? std::nullopt : slot_port->slot()->power_limit_w;
}

}  // namespace

std::string describe_link(double speed_gts, int width) {
  return fmt::format("{:.1f} GT/s x{}", speed_gts, width);
}

void LinkJudge::judge(const PcieProfile& profile, std::vector<PciFunction>& all,
                      const std::string& address) const {
  auto& function = *std::find_if(all.begin(), all.end(),
                                 [&](const PciFunction& f) { return f.address == address; });
  const PcieProfile want = held_to(profile, path_to(all, function));
  const auto good = [&](const Link& link) {
    return link.speed_gts >= want.speed_gts && link.width >= want.width;
  };
  const Link at_first = *function.link();
  unsigned readings = 1;
  if (!good(at_first)) {
    std::vector<std::string> addresses = {address};
    for (const Hop& hop : path_to(all, function)) {
      if (hop.port != nullptr) addresses.push_back(hop.port->address);
    }
    const KeptAwake awake(machine, addresses);
    LinkSample sample = sample_link(
        function, good, [&] { return read_pci_function(machine, address); }, wait);
    readings = sample.readings;
    function = std::move(sample.best);
  }
  const Link& link = *function.link();
  const std::vector<Hop> path = path_to(all, function);
  const Hop* narrow = narrowest(path);
  const PciFunction* slot_port = port_with_slot(path);
  const double needed = needed_of(want, path);

  const bool fast = recorder.measure(
      "link_speed", link.speed_gts, "GT/s",
      {reports::make_validator(Comparison::greater_or_equal, want.speed_gts, "GT/s")}, address);
  const bool wide = recorder.measure(
      "link_width", std::int64_t{link.width}, "lanes",
      {reports::make_validator(Comparison::greater_or_equal, std::int64_t{want.width}, "lanes")},
      address);
  recorder.measure("link_bandwidth", bandwidth(link.speed_gts, link.width), "GBy/s", {}, address);
  if (at_first.speed_gts < link.speed_gts || at_first.width < link.width) {
    recorder.log(reports::Severity::info,
                 fmt::format("{} ran at {} while it had nothing to do, and at {} when awake.",
                             address, describe_link(at_first.speed_gts, at_first.width),
                             describe_link(link.speed_gts, link.width)));
  }
  const std::optional<double> granted = granted_w(slot_port);
  if (granted) recorder.measure("slot_power", *granted, "W", {}, slot_port->address);
  const bool too_little_power = granted && want.peak_power_w && *granted < *want.peak_power_w;
  const auto power_remedy = [&] {
    return fmt::format("move to a slot with {:g} W or more", *want.peak_power_w);
  };
  const auto power_cause = [&] {
    return fmt::format("the slot grants {:g} W and the {} peaks at {:g} W", *granted, want.name,
                       *want.peak_power_w);
  };
  bool whole_path = true;
  if (narrow != nullptr) {
    whole_path = recorder.measure(
        "path_bandwidth", narrow->bandwidth_gbps(), "GBy/s",
        {reports::make_validator(Comparison::greater_or_equal, needed, "GBy/s")}, address);
  }

  if (fast && wide && whole_path) {
    if (too_little_power) {
      recorder.finding({.code = "PCIE_SLOT_POWER_LOW",
                        .message = fmt::format("{}.", power_cause()),
                        .where = "port " + slot_port->address,
                        .evidence = evidence_of(path, slot_port),
                        .remedy = {power_remedy()}});
    }
    return;
  }

  const Hop own = path.empty() ? Hop{.below = &function} : path.back();
  const Hop& bad = fast && wide ? *narrow : own;
  reports::Finding finding{.code = "PCIE_LINK_DEGRADED", .evidence = evidence_of(path, slot_port)};
  if (fast && wide) {
    finding.message =
        fmt::format("The way to {} {} is narrow: {}, {:.2f} of {:.2f} GB/s each way.", want.name,
                    address, describe_hop(bad), bad.bandwidth_gbps(), needed);
  } else {
    finding.message = fmt::format(
        "{} {} runs at {}; the board needs {} ({:.2f} of {:.2f} GB/s each way).", want.name,
        address, describe_link(link.speed_gts, link.width),
        describe_link(want.speed_gts, want.width), bandwidth(link.speed_gts, link.width), needed);
  }
  finding.where = where_of(bad, want, address);
  if (readings > 1) {
    finding.evidence.push_back(
        fmt::format("read {} times with the device awake: never better", readings));
  }
  if (is_held_down(bad)) {
    finding.likely = {
        fmt::format("a driver or the firmware holds the link at {:g} GT/s: that is the "
                    "Target Link Speed of port {} (LnkCtl2)",
                    bad.speed_gts, bad.port->address)};
    finding.remedy = {"keep the device busy and test again; else look for what sets LnkCtl2"};
  } else if (too_little_power) {
    finding.likely = {power_cause(), "dirty or worn contacts"};
    finding.remedy = {power_remedy(), "reseat the card",
                      "power-cycle the board: the link trains again"};
  }
  if (bad.port != nullptr && !is_held_down(bad)) {
    finding = reports::complete(std::move(finding));
    finding.remedy.push_back("train it again now:  sudo assay pcie --retrain " + bad.port->address);
  }
  recorder.finding(std::move(finding));
}

}  // namespace assay::probes
