#include "probes/thermal/sensor_reading.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "probes/thermal/sensor_history.h"
#include "tests/base/scratch.h"

namespace assay::probes {
namespace {

using testing::HasSubstr;

TEST(SensorReading, valuesThatStandForNoSensorAreNoTemperatures) {
  // -273, 0, 127.5 and 255 C, the kernel's THERMAL_TEMP_INVALID, DS18B20's "disconnected" (-127 C),
  // an error code that was taken for a value.
  for (const std::int64_t mc :
       {-273'000, -273'150, -274'000, -127'000, 0, 127'500, 128'000, 255'000, INT32_MAX}) {
    EXPECT_EQ(judge_reading(mc).fault, ReadingFault::sentinel) << mc;
    EXPECT_NE(judge_reading(mc).why, "") << mc;
  }
}

TEST(SensorReading, anExactZeroIsATemperatureOnlyInTheCold) {
  EXPECT_EQ(judge_reading(0, 40'000).fault, ReadingFault::sentinel);
  EXPECT_EQ(judge_reading(0, 500).fault, ReadingFault::none);
  EXPECT_EQ(judge_reading(0, -1'000).fault, ReadingFault::none);
}

TEST(SensorReading, aNumberInAnotherUnitIsToldAsThat) {
  const struct {
    std::int64_t value;
    std::optional<std::int64_t> other;
    const char* unit;
  } cases[] = {{45, std::nullopt, "as degrees"},
               {452, 44'000, "tenths of a degree"},
               {45'200'000, std::nullopt, "micro-degrees"},
               {318'350, std::nullopt, "thousandths of a kelvin"}};
  for (const auto& c : cases) {
    const auto verdict = judge_reading(c.value, c.other);
    EXPECT_EQ(verdict.fault, ReadingFault::wrong_unit) << c.value;
    EXPECT_THAT(verdict.why, HasSubstr(c.unit));
  }
  // Half a degree is half a degree where nothing else is warm.
  EXPECT_EQ(judge_reading(452).fault, ReadingFault::none);
  EXPECT_EQ(judge_reading(452, 600).fault, ReadingFault::none);
}

TEST(SensorReading, whatSiliconHasIsATemperature) {
  for (const std::int64_t mc : {-40'000, -20'000, 5'000, 45'200, 99'999, 105'000, 127'000}) {
    EXPECT_EQ(judge_reading(mc, 40'000).fault, ReadingFault::none) << mc;
  }
  for (const std::int64_t mc : {-40'001, -200'000, 140'000}) {
    EXPECT_EQ(judge_reading(mc).fault, ReadingFault::out_of_range) << mc;
  }
}

TEST(SensorReading, eachErrnoOfADriverHasItsMeaning) {
  EXPECT_THAT(explain_errno(EAGAIN), HasSubstr("busy"));
  EXPECT_THAT(explain_errno(EINVAL), HasSubstr("no valid reading"));
  EXPECT_THAT(explain_errno(ENODATA), HasSubstr("no data"));
  EXPECT_THAT(explain_errno(EIO), HasSubstr("bus"));
  EXPECT_THAT(explain_errno(ENODEV), HasSubstr("went away"));
  EXPECT_EQ(explain_errno(EISDIR), "");
}

// A pipe that someone holds open and writes nothing into answers as a sleeping sensor does.
TEST(SensorReading, aBusySensorIsReadWithoutWaitingAndSaysSo) {
  const test::Scratch root;
  root.write("sys/other", "");
  const std::string path = root / "sys/temp";
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
  const UniqueFd writer(open(path.c_str(), O_RDWR | O_CLOEXEC));
  ASSERT_TRUE(writer);
  const Machine machine(root.root());
  const SensorReading busy = read_sensor(machine, "/sys/temp");
  EXPECT_FALSE(busy.mc);
  EXPECT_EQ(busy.error_number, EAGAIN);
  EXPECT_THAT(busy.error.text(), HasSubstr("the sensor is busy"));
  ASSERT_EQ(write(writer.get(), "45200\n", 6), 6);
  EXPECT_EQ(read_sensor(machine, "/sys/temp").mc, 45'200);
}

TEST(SensorReading, aDecimalNumberIsAnotherUnit) {
  const test::Scratch root;
  root.write("t", "45.2\n");
  const SensorReading reading = read_sensor(Machine(root.root()), "/t");
  EXPECT_FALSE(reading.mc);
  EXPECT_THAT(reading.error.text(), HasSubstr("another unit"));
  EXPECT_FALSE(read_sensor(Machine(root.root()), "/none").mc);
  EXPECT_EQ(read_sensor(Machine(root.root()), "/none").error.kind, ErrorKind::unavailable);
}

SensorHistory history_of(const std::vector<std::int64_t>& readings) {
  SensorHistory history;
  for (const std::int64_t mc : readings) history.add(mc);
  return history;
}

TEST(SensorHistory, spikesAreJumpsAndSteepSlopesAreNot) {
  EXPECT_TRUE(history_of({40'000, 80'000, 40'000, 80'000, 40'000}).jumping());
  // A bit of the converter that flips now and then.
  std::vector<std::int64_t> flips(100, 45'000);
  for (const std::size_t at : {10U, 40U, 77U}) flips[at] += 16'384;
  EXPECT_TRUE(history_of(flips).jumping());
  // 30 K in each reading, up and down again: a fast core, not a fault.
  EXPECT_EQ(history_of({30'000, 60'000, 90'000, 120'000, 90'000, 60'000, 30'000}).jumps(), 1U);
  // The sensor's device started anew: once is no fault.
  EXPECT_FALSE(history_of({40'000, 0, 40'000, 40'000}).jumping());
  EXPECT_EQ(history_of({40'000, 34'000, 34'000, 34'000}).jumps(), 0U);
}

TEST(SensorHistory, aSensorThatMovedAndThenNeverAgainIsFrozen) {
  SensorHistory history;
  for (int i = 0; i < 40; ++i) history.add(45'000 + i % 7 * 13);
  EXPECT_FALSE(history.frozen());
  for (int i = 0; i < 30; ++i) history.add(45'500);
  EXPECT_TRUE(history.frozen());
  history.add(45'501);
  EXPECT_FALSE(history.frozen());
}

TEST(SensorHistory, aCoarseSensorAtRestIsNotFrozen) {
  // Whole degrees: it stays for long, moves by one, stays again.
  SensorHistory history;
  for (int i = 0; i < 200; ++i) history.add(i < 90 ? 45'000 : 46'000);
  EXPECT_FALSE(history.frozen());
  EXPECT_FALSE(history.constant());
  EXPECT_TRUE(history_of(std::vector<std::int64_t>(50, 45'000)).constant());
  EXPECT_FALSE(history_of(std::vector<std::int64_t>(50, 45'000)).frozen());
}

}  // namespace
}  // namespace assay::probes
