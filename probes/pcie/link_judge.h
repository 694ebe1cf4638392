// What a link that the profile names is worth: the whole way from the root, held against what the
// board needs.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/machine.h"
#include "probes/framework/board_profile.h"
#include "probes/pcie/config_space.h"
#include "reports/record/recorder.h"

namespace assay::probes {

// "8.0 GT/s x4"
std::string describe_link(double speed_gts, int width);

struct LinkJudge {
  reports::StepRecorder& recorder;
  const Machine& machine;
  // Called between two readings of a link that is slower than it must be; false ends them.
  std::function<bool()> wait;

  // Measures and judges the link of the function of that address, which has one. Its readings are
  // put into `all`. An optional one is held to what both its ends can do, at most.
  void judge(const PcieProfile& profile, std::vector<PciFunction>& all,
             const std::string& address) const;
};

}  // namespace assay::probes
