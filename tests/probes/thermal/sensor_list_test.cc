#include "probes/thermal/sensor_list.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/base/scratch.h"

namespace assay::probes {
namespace {

using testing::ElementsAre;

// A tree as a small ARM board has it.
class SensorList : public testing::Test {
 protected:
  SensorList() {
    const std::string zone = "sys/class/thermal/thermal_zone0/";
    root_.write(zone + "type", "npu-thermal\n");
    root_.write(zone + "mode", "enabled\n");
    root_.write(zone + "temp", "45200\n");
    root_.write(zone + "trip_point_0_type", "passive\n");
    root_.write(zone + "trip_point_0_temp", "87000\n");
    root_.write(zone + "trip_point_10_type", "critical\n");
    root_.write(zone + "trip_point_10_temp", "105000\n");
    root_.write(zone + "trip_point_2_type", "active\n");
    root_.write(zone + "trip_point_2_temp", "60000\n");
    root_.write("sys/class/thermal/thermal_zone10/temp", "40000\n");
    root_.write("sys/class/thermal/thermal_zone2/temp", "41000\n");
    root_.write("sys/class/thermal/cooling_device0/type", "pwm-fan\n");
    root_.write("sys/class/thermal/cooling_device0/cur_state", "2\n");
    root_.write("sys/class/thermal/cooling_device0/max_state", "4\n");
    const std::string chip = "sys/class/hwmon/hwmon1/";
    root_.write(chip + "name", "nvme\n");
    root_.write(chip + "temp1_input", "38850\n");
    root_.write(chip + "temp1_label", "Composite\n");
    root_.write(chip + "temp1_crit", "84850\n");
    root_.write(chip + "temp2_input", "0\n");
    root_.write(chip + "temp2_fault", "1\n");
    root_.write(chip + "fan1_input", "3200\n");
    root_.write(chip + "power1_input", "6500000\n");
    root_.write("sys/class/hwmon/hwmon2/power1_average", "2500000\n");
  }
  ThermalInventory inventory() const { return thermal_inventory(Machine(root_.root())); }
  test::Scratch root_;
};

TEST_F(SensorList, zonesWithTheirTripPointsInTheOrderOfTheirNumbers) {
  const auto all = inventory();
  ASSERT_EQ(all.zones.size(), 3U);
  EXPECT_EQ(all.zones[0].label(), "thermal_zone0 npu-thermal");
  EXPECT_EQ(all.zones[1].name, "thermal_zone2");
  EXPECT_EQ(all.zones[2].name, "thermal_zone10");
  const auto& trips = all.zones[0].trips;
  ASSERT_EQ(trips.size(), 3U);
  EXPECT_EQ(trips[0].type, "passive");
  EXPECT_EQ(trips[1].number, 2);
  EXPECT_EQ(trips[2].type, "critical");
  EXPECT_EQ(trips[2].mc, 105'000);
}

TEST_F(SensorList, chipsAndCoolingDevices) {
  const auto all = inventory();
  ASSERT_EQ(all.cooling.size(), 1U);
  EXPECT_EQ(all.cooling[0].type, "pwm-fan");
  EXPECT_EQ(all.cooling[0].state, 2);
  EXPECT_EQ(all.cooling[0].most, 4);
  std::vector<std::string> labels;
  for (const auto& sensor : all.sensors) labels.push_back(sensor.label);
  EXPECT_THAT(labels, ElementsAre("hwmon1 nvme temp1 Composite", "hwmon1 nvme temp2",
                                  "hwmon1 nvme fan1", "hwmon1 nvme power1", "hwmon2 power1"));
  EXPECT_EQ(all.sensors[0].critical_mc, 84'850);
  EXPECT_TRUE(all.sensors[1].faulty);
}

TEST_F(SensorList, powerIsTheSumOfWhatIsMeasured) {
  const Machine machine(root_.root());
  EXPECT_DOUBLE_EQ(*read_power_w(machine, inventory().sensors), 9.0);
  root_.write("sys/class/hwmon/hwmon1/power1_input", "n/a\n");
  EXPECT_DOUBLE_EQ(*read_power_w(machine, inventory().sensors), 2.5);
  EXPECT_FALSE(read_power_w(machine, {}));
}

TEST_F(SensorList, aMachineWithoutAnyHasNone) {
  const test::Scratch nothing;
  EXPECT_TRUE(thermal_inventory(Machine(nothing.root())).empty());
}

}  // namespace
}  // namespace assay::probes
