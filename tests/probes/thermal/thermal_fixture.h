// A board with zones, and a clock where its profile names one, in files that a test writes.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <string>

#include "base/clock.h"
#include "probes/thermal/thermal.h"
#include "tests/probes/bench_fixture.h"

namespace assay::test {

class Thermal : public testing::Test {
 protected:
  void zone(const std::string& name, const std::string& temp, const std::string& type = "") {
    bench_.write("/sys/class/thermal/" + name + "/temp", temp);
    if (!type.empty()) bench_.write("/sys/class/thermal/" + name + "/type", type + "\n");
  }
  void with_profile() {
    bench_.board.thermal = probes::ThermalProfile{
        .zone = "thermal_zone0",
        .limit_mc = 85'000,
        .throttle_mc = 87'000,
        .frequency = probes::FrequencyProfile{.file = "/sys/kernel/debug/npu/clk",
                                              .nominal_hz = 1'200'000'000,
                                              .throttled_hz = 750'000'000,
                                              .tolerance_hz = 50'000'000}};
  }
  void clock(std::int64_t hz) {
    bench_.write("/sys/kernel/debug/npu/clk", std::to_string(hz) + "\n");
  }
  Outcome read() { return bench_.run(probes::thermal_read_probe()); }

  BenchFixture bench_;
};

}  // namespace assay::test
