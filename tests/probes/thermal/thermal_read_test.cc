#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <functional>

#include "base/atomic_file.h"
#include "tests/probes/thermal/thermal_fixture.h"
#include "tests/support/every.h"

namespace assay::probes {
namespace {

using reports::StepState;
using test::Outcome;
using testing::Contains;
using testing::HasSubstr;

using ThermalRead = test::Thermal;

TEST_F(ThermalRead, measuresEveryZoneAndHoldsTheBoardsAgainstItsLimit) {
  with_profile();
  zone("thermal_zone0", "84999\n", "npu-thermal");
  zone("thermal_zone10", "45200\n", "cpu-thermal");
  bench_.write("/sys/class/thermal/cooling_device0/type", "fan\n");
  const Outcome outcome = read();
  EXPECT_EQ(outcome.step.state, StepState::pass);
  EXPECT_DOUBLE_EQ(outcome.number("temperature", "thermal_zone0 npu-thermal"), 84.999);
  EXPECT_DOUBLE_EQ(outcome.number("temperature", "thermal_zone10 cpu-thermal"), 45.2);
  EXPECT_EQ(outcome.step.measurements.size(), 2U);
  EXPECT_EQ(outcome.step.headline, "85.0 C");
}

TEST_F(ThermalRead, failsOverTheProfilesLimitAndNotAtIt) {
  with_profile();
  zone("thermal_zone0", "85000\n");
  EXPECT_EQ(read().step.state, StepState::pass);
  zone("thermal_zone0", "85001\n");
  const Outcome outcome = read();
  EXPECT_EQ(outcome.step.state, StepState::fail);
  ASSERT_NE(outcome.finding("THERMAL_OVER_LIMIT"), nullptr);
  EXPECT_THAT(outcome.finding("THERMAL_OVER_LIMIT")->evidence, Contains(HasSubstr("85001")));
}

TEST_F(ThermalRead, theLimitIsOfTheBoardsZoneAlone) {
  with_profile();
  zone("thermal_zone0", "40000\n");
  zone("thermal_zone1", "95000\n");
  EXPECT_EQ(read().step.state, StepState::pass);
}

TEST_F(ThermalRead, valuesThatNoSiliconHasAreASensorsFault) {
  with_profile();
  for (const char* value :
       {"-273000", "-273150", "-40001", "0", "127500", "128000", "255000", "2147483647"}) {
    zone("thermal_zone0", value);
    const Outcome outcome = read();
    EXPECT_EQ(outcome.step.state, StepState::fail) << value;
    ASSERT_NE(outcome.finding("THERMAL_SENSOR_IMPLAUSIBLE"), nullptr) << value;
    // Such a value is never measured: it would spoil the statistics.
    EXPECT_EQ(outcome.measurement("temperature"), nullptr) << value;
  }
  for (const char* value : {"1000", "-20000", "84000"}) {
    zone("thermal_zone0", value);
    EXPECT_EQ(read().step.state, StepState::pass) << value;
  }
}

TEST_F(ThermalRead, aSensorThatCannotBeReadIsNoPass) {
  with_profile();
  // A folder gives EISDIR where a sleeping sensor gives EIO.
  std::filesystem::create_directories(bench_.root() / "sys/class/thermal/thermal_zone0/temp");
  EXPECT_EQ(read().step.state, StepState::error);
  std::filesystem::remove(bench_.root() / "sys/class/thermal/thermal_zone0/temp");
  EXPECT_EQ(read().step.state, StepState::error);
  for (const char* garbage : {"", "n/a\n", "45.2\n", "0x2d\n"}) {
    zone("thermal_zone0", garbage);
    EXPECT_EQ(read().step.state, StepState::error) << garbage;
  }
}

TEST_F(ThermalRead, withoutAProfileOneZoneThatAnswersIsEnoughAndNoneIsNot) {
  std::filesystem::create_directories(bench_.root() / "sys/class/thermal/thermal_zone0/temp");
  EXPECT_EQ(read().step.state, StepState::error);
  zone("thermal_zone1", "45200\n");
  const Outcome outcome = read();
  EXPECT_EQ(outcome.step.state, StepState::pass);
  EXPECT_TRUE(outcome.logged("thermal_zone0"));
}

TEST_F(ThermalRead, skipsAMachineWithoutZonesAndMissesTheBoards) {
  EXPECT_EQ(read().step.state, StepState::skip);
  std::filesystem::create_directories(bench_.root() / "sys/class/thermal");
  EXPECT_EQ(read().step.state, StepState::skip);
  with_profile();
  Outcome outcome = read();
  EXPECT_EQ(outcome.step.state, StepState::error);
  zone("thermal_zone1", "45200\n");
  outcome = read();
  EXPECT_EQ(outcome.step.state, StepState::error);
  EXPECT_EQ(outcome.result.error().kind, ErrorKind::unavailable);
}

TEST_F(ThermalRead, showsTripPointsChipsFansAndCoolingDevices) {
  with_profile();
  zone("thermal_zone0", "45200\n", "npu-thermal");
  bench_.write("/sys/class/thermal/thermal_zone0/trip_point_0_type", "passive\n");
  bench_.write("/sys/class/thermal/thermal_zone0/trip_point_0_temp", "87000\n");
  bench_.write("/sys/class/thermal/cooling_device0/type", "pwm-fan\n");
  bench_.write("/sys/class/thermal/cooling_device0/cur_state", "1\n");
  bench_.write("/sys/class/thermal/cooling_device0/max_state", "3\n");
  bench_.write("/sys/class/hwmon/hwmon0/name", "nvme\n");
  bench_.write("/sys/class/hwmon/hwmon0/temp1_input", "38850\n");
  bench_.write("/sys/class/hwmon/hwmon0/fan1_input", "3200\n");
  bench_.write("/sys/class/hwmon/hwmon0/power1_input", "6500000\n");
  const Outcome outcome = read();
  EXPECT_EQ(outcome.step.state, StepState::pass);
  EXPECT_DOUBLE_EQ(outcome.number("trip_point", "thermal_zone0 0 passive"), 87);
  EXPECT_DOUBLE_EQ(outcome.number("cooling_state", "cooling_device0 pwm-fan of 3"), 1);
  EXPECT_DOUBLE_EQ(outcome.number("sensor_temperature", "hwmon0 nvme temp1"), 38.85);
  EXPECT_DOUBLE_EQ(outcome.number("fan_speed", "hwmon0 nvme fan1"), 3200);
  EXPECT_DOUBLE_EQ(outcome.number("power", "hwmon0 nvme power1"), 6.5);
}

TEST_F(ThermalRead, theUncertaintyIsTheLimitsGuardBand) {
  with_profile();
  bench_.board.thermal->uncertainty_mc = 1'000;
  zone("thermal_zone0", "84000\n");
  EXPECT_EQ(read().step.state, StepState::pass);
  zone("thermal_zone0", "84500\n");
  Outcome outcome = read();
  EXPECT_EQ(outcome.step.state, StepState::fail);
  EXPECT_THAT(outcome.finding("THERMAL_OVER_LIMIT")->message, HasSubstr("not shown to be within"));
  zone("thermal_zone0", "86500\n");
  outcome = read();
  EXPECT_THAT(outcome.finding("THERMAL_OVER_LIMIT")->message, HasSubstr("surely over"));
}

TEST_F(ThermalRead, aSensorHasItsOwnCriticalTemperature) {
  zone("thermal_zone0", "104000\n");
  bench_.write("/sys/class/thermal/thermal_zone0/trip_point_0_type", "critical\n");
  bench_.write("/sys/class/thermal/thermal_zone0/trip_point_0_temp", "105000\n");
  bench_.write("/sys/class/hwmon/hwmon0/temp1_input", "84000\n");
  bench_.write("/sys/class/hwmon/hwmon0/temp1_crit", "84850\n");
  EXPECT_EQ(read().step.state, StepState::pass);
  zone("thermal_zone0", "105000\n");
  EXPECT_EQ(read().finding("THERMAL_OVER_LIMIT")->where, "thermal_zone0");
  zone("thermal_zone0", "104000\n");
  bench_.write("/sys/class/hwmon/hwmon0/temp1_input", "85000\n");
  EXPECT_EQ(read().finding("THERMAL_OVER_LIMIT")->where, "hwmon0 temp1");
}

TEST_F(ThermalRead, aSensorThatItsChipCallsFaultyIsNotMeasured) {
  zone("thermal_zone0", "45200\n");
  bench_.write("/sys/class/hwmon/hwmon0/temp1_input", "41000\n");
  bench_.write("/sys/class/hwmon/hwmon0/temp1_fault", "1\n");
  const Outcome outcome = read();
  EXPECT_EQ(outcome.step.state, StepState::fail);
  EXPECT_NE(outcome.finding("THERMAL_SENSOR_IMPLAUSIBLE"), nullptr);
  EXPECT_EQ(outcome.measurement("sensor_temperature"), nullptr);
}

TEST_F(ThermalRead, aWrongUnitIsToldFromHeatAndFromABrokenSensor) {
  zone("thermal_zone0", "45\n");
  Outcome outcome = read();
  ASSERT_NE(outcome.finding("THERMAL_SENSOR_UNIT"), nullptr);
  EXPECT_EQ(outcome.step.findings.size(), 1U);
  EXPECT_EQ(outcome.measurement("temperature"), nullptr);
  // Micro-degrees read as 45,200 C, and are not heat.
  zone("thermal_zone0", "45200000\n");
  outcome = read();
  ASSERT_NE(outcome.finding("THERMAL_SENSOR_UNIT"), nullptr);
  EXPECT_EQ(outcome.finding("THERMAL_OVER_LIMIT"), nullptr);
}

// A sensor at work: someone else writes the files while the probe reads.
class LiveFiles : public test::Every {
 public:
  explicit LiveFiles(std::function<void(int)> write_next)
      : Every(std::chrono::milliseconds(20), std::move(write_next)) {}
};

class ThermalReadLive : public test::Thermal {
 protected:
  // A file is replaced, never half there.
  void put(const std::string& name, std::int64_t mc) {
    const std::string path = bench_.root() / ("sys/class/thermal/" + name + "/temp");
    std::filesystem::create_directories(std::filesystem::path(path).parent_path());
    ASSERT_TRUE(write_file_atomically(path, std::to_string(mc) + "\n", Durability::visible));
  }
  Outcome read_for(std::int64_t ns) {
    bench_.parameters.set("time", static_cast<std::uint64_t>(ns));
    return read();
  }
};

TEST_F(ThermalReadLive, aJumpingSensorIsToldFromHeat) {
  with_profile();
  put("thermal_zone0", 45'000);
  const LiveFiles live([this](int i) { put("thermal_zone0", i % 4 < 2 ? 45'000 : 95'000); });
  const Outcome outcome = read_for(2 * ns_per_s);
  ASSERT_NE(outcome.finding("THERMAL_SENSOR_JUMPING"), nullptr);
  EXPECT_EQ(outcome.finding("THERMAL_OVER_LIMIT"), nullptr);
  EXPECT_EQ(outcome.measurement("temperature"), nullptr);
}

TEST_F(ThermalReadLive, aSensorThatStaysWhileItsNeighbourWarmsIsStuck) {
  put("thermal_zone0", 45'000);
  put("thermal_zone1", 40'000);
  const LiveFiles live([this](int i) { put("thermal_zone1", 40'000 + 200 * i); });
  const Outcome outcome = read_for(2 * ns_per_s);
  ASSERT_NE(outcome.finding("THERMAL_SENSOR_STUCK"), nullptr);
  EXPECT_EQ(outcome.finding("THERMAL_SENSOR_STUCK")->where, "thermal_zone0");
  EXPECT_EQ(outcome.step.findings.size(), 1U);
}

TEST_F(ThermalReadLive, sensorsThatDoNothingAtRestAreSound) {
  put("thermal_zone0", 45'000);
  put("thermal_zone1", 40'000);
  EXPECT_EQ(read_for(2 * ns_per_s).step.state, StepState::pass);
}

TEST_F(ThermalReadLive, aBusySensorThatAnswersInTimeIsRead) {
  const std::string path = bench_.root() / "sys/class/thermal/thermal_zone0/temp";
  std::filesystem::create_directories(std::filesystem::path(path).parent_path());
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
  const UniqueFd sensor(open(path.c_str(), O_RDWR | O_CLOEXEC));
  // Nothing in the pipe: EAGAIN, all the time.
  Outcome outcome = read_for(200 * ns_per_ms);
  EXPECT_EQ(outcome.step.state, StepState::error);
  EXPECT_THAT(outcome.result.error().text(), HasSubstr("busy"));
  ASSERT_EQ(::write(sensor.get(), "45200\n", 6), 6);
  outcome = read_for(200 * ns_per_ms);
  EXPECT_EQ(outcome.step.state, StepState::pass);
  EXPECT_DOUBLE_EQ(outcome.number("temperature"), 45.2);
}

TEST_F(ThermalReadLive, theLevelAtRestIsHeldAgainstAGoldenBoards) {
  with_profile();
  bench_.board.thermal->golden = GoldenThermal{.time_s = 1,
                                               .resistance_k_per_w = 1.8,
                                               .base_mc = 25'000,
                                               .base_tolerance_mc = 3'000,
                                               .tolerance = 0.1};
  bench_.write("/sys/class/hwmon/hwmon0/power1_input", "6000000\n");
  put("thermal_zone0", 35'810);
  EXPECT_EQ(read().step.state, StepState::pass);
  put("thermal_zone0", 29'810);
  const Outcome outcome = read();
  ASSERT_NE(outcome.finding("THERMAL_SENSOR_DRIFT"), nullptr);
  EXPECT_THAT(outcome.finding("THERMAL_SENSOR_DRIFT")->message, HasSubstr("6.0 C too low"));
  EXPECT_EQ(outcome.step.findings.size(), 1U);
}
}  // namespace
}  // namespace assay::probes
