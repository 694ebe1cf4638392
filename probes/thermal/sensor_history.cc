#include "probes/thermal/sensor_history.h"

#include <algorithm>

namespace assay::probes {

void SensorHistory::add(std::int64_t mc) {
  if (count_ == 0) least_ = most_ = mc;
  least_ = std::min(least_, mc);
  most_ = std::max(most_, mc);
  const bool same = count_ > 0 && mc == last_[2];
  if (count_ > 0 && !same) ++changes_;
  equal_run_ = same ? equal_run_ + 1 : 0;
  last_ = {last_[1], last_[2], mc};
  ++count_;
  if (count_ >= 3) {
    auto sorted = last_;
    std::sort(sorted.begin(), sorted.end());
    if (std::max(last_[1] - sorted[1], sorted[1] - last_[1]) > jump_mc) ++jumps_;
  }
  const std::size_t before = count_ - 1 - equal_run_;  // steps in front of the equal run
  frozen_ = equal_run_ + 1 >= frozen_run && before >= frozen_run && changes_ * 2 >= before;
}

}  // namespace assay::probes
