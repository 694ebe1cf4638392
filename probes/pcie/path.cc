#include "probes/pcie/path.h"

#include <algorithm>

#include "probes/pcie/devices.h"

namespace assay::probes {
namespace {

// No more buses than these are in a domain: what goes on longer goes in a circle.
constexpr int max_buses = 256;

bool faces_down(const PciFunction& function) {
  return function.express && (function.express->type == PortType::root_port ||
                              function.express->type == PortType::downstream_port);
}

Hop hop_between(const PciFunction* port, const PciFunction& below) {
  const Link& link = *below.link();
  Hop hop{.port = port,
          .below = &below,
          .speed_gts = link.speed_gts,
          .width = link.width,
          .possible_speed_gts = link.max_speed_gts,
          .possible_width = link.max_width};
  if (port != nullptr && port->link() != nullptr) {
    hop.possible_speed_gts = std::min(hop.possible_speed_gts, port->link()->max_speed_gts);
    hop.possible_width = std::min(hop.possible_width, port->link()->max_width);
  }
  return hop;
}

}  // namespace

double Hop::bandwidth_gbps() const {
  return lane_bandwidth_gbps(speed_gts) * width;
}
double Hop::possible_bandwidth_gbps() const {
  return lane_bandwidth_gbps(possible_speed_gts) * possible_width;
}

std::vector<Hop> path_to(const std::vector<PciFunction>& all, const PciFunction& function) {
  std::vector<Hop> path;
  const PciFunction* below = &function;
  for (int buses = 0; buses < max_buses && below != nullptr; ++buses) {
    const PciFunction* bridge = upstream_port(all, *below);
    // Between the upstream and the downstream port of a switch is no link, nor is there one below a
    // bridge to conventional PCI.
    const bool is_link = below->link() != nullptr && !faces_down(*below);
    if (is_link && (bridge == nullptr || faces_down(*bridge))) {
      path.push_back(hop_between(bridge, *below));
    }
    below = bridge;
  }
  std::reverse(path.begin(), path.end());
  return path;
}

const Hop* narrowest(const std::vector<Hop>& path) {
  const auto least = std::min_element(path.begin(), path.end(), [](const Hop& a, const Hop& b) {
    return a.bandwidth_gbps() < b.bandwidth_gbps();
  });
  return least == path.end() ? nullptr : &*least;
}

const PciFunction* port_with_slot(const std::vector<Hop>& path) {
  const auto found = std::find_if(path.rbegin(), path.rend(), [](const Hop& hop) {
    return hop.port != nullptr && hop.port->slot() != nullptr;
  });
  return found == path.rend() ? nullptr : found->port;
}

}  // namespace assay::probes
