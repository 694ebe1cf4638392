// A link read again while its device is awake: many devices run their link at 2.5 GT/s, or with
// fewer lanes, while they have nothing to do.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/machine.h"
#include "probes/pcie/config_space.h"

namespace assay::probes {

inline constexpr unsigned max_link_readings = 10;

struct LinkSample {
  PciFunction best;       // of the readings, by what the link carries
  unsigned readings = 1;  // how often it was read
};

// Reads until `good`, `wait` says to stop, the function vanishes or after max_link_readings.
// `first` has a link.
LinkSample sample_link(PciFunction first, const std::function<bool(const Link&)>& good,
                       const std::function<std::optional<PciFunction>()>& read_again,
                       const std::function<bool()>& wait);

// Keeps functions out of runtime suspend (/sys/bus/pci/devices/*/power/control) and puts back what
// was there. Where that cannot be written nothing is changed.
class KeptAwake {
 public:
  KeptAwake(const Machine& machine, const std::vector<std::string>& addresses);
  ~KeptAwake();
  KeptAwake(const KeptAwake&) = delete;
  KeptAwake& operator=(const KeptAwake&) = delete;

 private:
  const Machine& machine_;
  std::vector<std::string> changed_;  // files that said "auto"
};

}  // namespace assay::probes
