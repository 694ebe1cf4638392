// The way from the root of a PCI Express hierarchy to a function.
#pragma once

#include <vector>

#include "probes/pcie/config_space.h"

namespace assay::probes {

// One link: a root port or a switch's downstream port, and what hangs on it.
struct Hop {
  const PciFunction* port = nullptr;   // its upper end; null: not to be seen
  const PciFunction* below = nullptr;  // its lower end, which has a link
  double speed_gts = 0;                // as negotiated
  int width = 0;
  double possible_speed_gts = 0;  // what both ends can do
  int possible_width = 0;

  double bandwidth_gbps() const;  // one way
  double possible_bandwidth_gbps() const;
};

// From the root down; the last hop is the function's own link. Empty for a function without one.
// The pointers are into `all`, and to `function`.
std::vector<Hop> path_to(const std::vector<PciFunction>& all, const PciFunction& function);

// The hop that carries least, of equals the one nearest the root. Null for an empty path.
const Hop* narrowest(const std::vector<Hop>& path);

// The slot that the function sits in: that of the nearest port above that has one.
const PciFunction* port_with_slot(const std::vector<Hop>& path);

}  // namespace assay::probes
