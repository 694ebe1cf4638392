// What a row of readings of one sensor tells of the sensor: that it jumps, that it froze, that it
// never moved. It keeps a few numbers, however long the row is.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace assay::probes {

class SensorHistory {
 public:
  // A reading that is further than this from the median of itself and its two neighbours is a jump.
  // A temperature that rises or falls, however fast, is its own median and never jumps.
  static constexpr std::int64_t jump_mc = 12'000;
  // One jump is a restart of the sensor's device.
  static constexpr std::size_t jumps_of_a_fault = 3;
  // Equal readings in a row after which a sensor that moved before is frozen.
  static constexpr std::size_t frozen_run = 20;

  void add(std::int64_t mc);

  std::size_t count() const { return count_; }
  std::size_t jumps() const { return jumps_; }
  bool jumping() const { return jumps_ >= jumps_of_a_fault; }
  // Of frozen_run readings or more before, at least every second one differed from the one before
  // it; since then there were frozen_run equal ones. A sensor that works gives them by a chance of
  // less than 0.5^19, two in a million.
  bool frozen() const { return frozen_; }
  // All readings so far are the same. At rest, or at a resolution of a degree, that is no fault.
  bool constant() const { return count_ > 0 && changes_ == 0; }
  std::int64_t last_mc() const { return last_[2]; }
  std::int64_t least_mc() const { return least_; }
  std::int64_t most_mc() const { return most_; }

 private:
  std::array<std::int64_t, 3> last_ = {};  // oldest first
  std::size_t count_ = 0;
  std::size_t jumps_ = 0;
  std::size_t changes_ = 0;
  std::size_t equal_run_ = 0;  // readings at the end that are the same, less one
  std::int64_t least_ = 0;
  std::int64_t most_ = 0;
  bool frozen_ = false;
};

}  // namespace assay::probes
