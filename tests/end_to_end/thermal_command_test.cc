// assay thermal, thermal watch and thermal calibrate, as a person types them.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <termios.h>
#include <unistd.h>

#include <chrono>

#include "base/fd.h"
#include "tests/base/scratch.h"
#include "tests/end_to_end/run_files.h"
#include "tests/support/every.h"
#include "tests/support/program.h"

namespace assay::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::MatchesRegex;

TEST(ThermalCommand, thisMachineIsReadOrSkippedCleanly) {
  const Finished run = assay({"thermal"});
  bool has_sensor = false;
  for (const char* folder : {"/sys/class/thermal", "/sys/class/hwmon"}) {
    std::error_code none;
    for (const auto& entry : std::filesystem::directory_iterator(folder, none)) {
      has_sensor = has_sensor || entry.path().filename().string().starts_with("thermal_zone") ||
                   std::filesystem::exists(entry.path() / "temp1_input");
    }
  }
  if (has_sensor) {
    EXPECT_THAT(run.exit_code, testing::AnyOf(0, 1, 3)) << run.out << run.err;
    return;
  }
  EXPECT_EQ(run.exit_code, 3) << run.out << run.err;
  EXPECT_THAT(run.out, HasSubstr("SKIP  thermal.read"));
  EXPECT_THAT(run.out, HasSubstr("this machine has no thermal zone"));
  EXPECT_EQ(assay({"thermal", "watch"}).exit_code, 3);
}

TEST(ThermalCommand, showsWhatAVirtualBoardHas) {
  const Finished run = assay({"thermal", "--virtual"});
  EXPECT_EQ(run.exit_code, 0) << run.out << run.err;
  EXPECT_THAT(run.out, HasSubstr("thermal_zone0 npu-thermal"));
  EXPECT_THAT(run.out, HasSubstr("trip_point 87 °C  thermal_zone0 0 passive"));
  EXPECT_THAT(run.out, HasSubstr("cooling_device0 npu-clock of 1"));
  EXPECT_THAT(run.out, HasSubstr("power 6 W"));
}

struct WatchCase {
  const char* fault;
  std::vector<std::string> codes;
};

TEST(ThermalCommand, theWatchTellsEachFaultAndNoOther) {
  for (const WatchCase& expected : {WatchCase{"", {}},
                                    {"thermal-gap", {"THERMAL_THROTTLE"}},
                                    {"thermal-drift", {"THERMAL_SENSOR_DRIFT"}},
                                    {"fw-old", {"THERMAL_SENSOR_DRIFT"}}}) {
    std::vector<std::string> arguments = {"thermal", "watch", "--virtual",
                                          "--time",  "12s",   "--json"};
    if (*expected.fault != '\0') {
      arguments.push_back("--fault");
      arguments.push_back(expected.fault);
    }
    const Finished run = assay(arguments);
    EXPECT_EQ(run.exit_code, expected.codes.empty() ? 0 : 1) << expected.fault << run.err;
    const auto report = nlohmann::json::parse(run.out);
    EXPECT_EQ(codes(report["findings"]), expected.codes) << expected.fault;
    const auto figures = step_of(report, "thermal.watch")["measurements"];
    // Sensor and cooler are those of a good board in each of them.
    EXPECT_NEAR(named(figures, "thermal_resistance")["value"], 1.78, 0.15) << expected.fault;
    const bool throttles = std::string(expected.fault) == "thermal-gap";
    EXPECT_EQ(named(figures, "time_to_throttle").is_null(), !throttles);
  }
}

class Calibrate : public testing::Test {
 protected:
  Calibrate() {
    files_.write("npu.conf", "# line 3\npool = 24G\ntemp_offset = 0  # by hand\ntrace = on\n");
    chmod((files_ / "npu.conf").c_str(), 0600);
    files_.write("readings.csv",
                 "sensor,reference\n44.3,46.1\n44.4,46.2\n44.2,46.0\n44.3,46.1\n44.3,61.0\n"
                 "44.3,46.1\n44.4,46.2\n44.3,46.1\n");
  }
  Finished calibrate(std::vector<std::string> more) const {
    std::vector<std::string> arguments = {"thermal", "calibrate", "--config", files_ / "npu.conf"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return assay(arguments);
  }
  Scratch files_;
};

TEST_F(Calibrate, aFileOfPairsSetsTheOffsetAndNothingElse) {
  const Finished dry = calibrate({"--pairs", files_ / "readings.csv", "--dry-run"});
  EXPECT_EQ(dry.exit_code, 0) << dry.out << dry.err;
  EXPECT_THAT(dry.out, HasSubstr("would write: temp_offset = 1800 (before: 0)"));
  EXPECT_EQ(files_.names(), (std::set<std::string>{"npu.conf", "readings.csv"}));

  const Finished run = calibrate({"--pairs", files_ / "readings.csv"});
  EXPECT_EQ(run.exit_code, 0) << run.out << run.err;
  EXPECT_THAT(run.out, HasSubstr("outliers 1"));
  EXPECT_THAT(run.out, HasSubstr("expanded (k = 2)"));
  EXPECT_THAT(run.out, HasSubstr("THERMAL_CORRECTION_UNCERTAIN"));
  EXPECT_EQ(files_.content("npu.conf"),
            "# line 3\npool = 24G\ntemp_offset = 1800  # by hand\ntrace = on\n");
  EXPECT_THAT(files_.content("npu.conf.bak"), HasSubstr("temp_offset = 0  # by hand"));
  struct stat status {};
  ASSERT_EQ(stat((files_ / "npu.conf").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600U);
}

TEST_F(Calibrate, aBetterReferenceMakesTheCorrectionCertain) {
  const Finished run =
      calibrate({"--pairs", files_ / "readings.csv", "--accuracy", "0.3C", "--json"});
  EXPECT_EQ(run.exit_code, 0) << run.err;
  const auto report = nlohmann::json::parse(run.out);
  EXPECT_THAT(codes(report["observations"]), IsEmpty());
  const auto figures = step_of(report, "thermal.calibrate")["measurements"];
  EXPECT_NEAR(named(figures, "correction")["value"], 1.8, 0.01);
  EXPECT_LT(named(figures, "expanded_uncertainty")["value"], 0.4);
}

TEST_F(Calibrate, refusesBeyondTenDegreesAndWritesNothing) {
  files_.write("far.csv", "44.3,56.1\n44.3,56.1\n44.3,56.1\n44.3,56.1\n");
  const std::string before = files_.content("npu.conf");
  const Finished run = calibrate({"--pairs", files_ / "far.csv"});
  EXPECT_EQ(run.exit_code, 1) << run.out << run.err;
  EXPECT_THAT(run.out, HasSubstr("THERMAL_SENSOR_DRIFT"));
  EXPECT_EQ(files_.content("npu.conf"), before);
}

TEST_F(Calibrate, wrongUseIsOneLine) {
  files_.write("bad.csv", "44.3,46.1\n44.3,warm\n");
  const struct {
    std::vector<std::string> arguments;
    const char* says;
  } cases[] = {
      {{"thermal", "calibrate", "--accuracy", "good"}, "--accuracy: \"good\" is not understood"},
      {{"thermal", "calibrate", "--pairs", "a", "--thermometer", "b"}, "not from both"},
      {{"thermal", "--virtual", "calibrate"}, "--virtual: stands in front of the command"},
      {{"thermal", "calibrate", "--readings", "2"}, "--readings"},
  };
  for (const auto& c : cases) {
    const Finished run = assay(c.arguments);
    EXPECT_EQ(run.exit_code, 2) << c.says << run.out << run.err;
    EXPECT_THAT(run.err, MatchesRegex("[^\n]+\n")) << c.says;
    EXPECT_THAT(run.err, HasSubstr(c.says));
  }
  const Finished bad = calibrate({"--pairs", files_ / "bad.csv"});
  EXPECT_EQ(bad.exit_code, 2) << bad.out;
  EXPECT_THAT(bad.out, HasSubstr("bad.csv:2: expected temperatures"));
  for (const char* command : {"watch", "calibrate"}) {
    const Finished help = assay({"thermal", command, "--help"});
    EXPECT_EQ(help.exit_code, 0);
    EXPECT_THAT(help.out, HasSubstr(std::string("assay thermal ") + command));
  }
}

TEST_F(Calibrate, takesReadingsThatAPersonTypes) {
  std::string shell = "printf '41.7\\n41.6 C\\n41,7\\n107.1 F\\n41.7\\n\\n' | '" +
                      assay_argv({}).front() +
                      "' thermal calibrate --virtual --settled 30K/min --accuracy 0.1C --json";
  const Finished run = Program({"/bin/sh", "-c", shell}).wait();
  EXPECT_EQ(run.exit_code, 0) << run.out << run.err;
  EXPECT_THAT(run.err, HasSubstr("reading 1: what does the reference thermometer show"));
  const auto figures = step_of(nlohmann::json::parse(run.out), "thermal.calibrate")["measurements"];
  EXPECT_EQ(named(figures, "pairs")["value"], 5);
  // The virtual board rests at 25 + 6 W * 1.78 K/W = 35.68 C.
  EXPECT_NEAR(named(figures, "correction")["value"], 41.7 - 35.68, 0.3);
}

TEST_F(Calibrate, isLeftByCtrlCWithNothingWritten) {
  const std::string before = files_.content("npu.conf");
  // Its wait for a slope of 0.001 K/min never ends.
  Program run(assay_argv({"thermal", "calibrate", "--virtual", "--settled", "0.001K/min",
                          "--config", files_ / "npu.conf"}));
  ASSERT_FALSE(eventually(1.5, [&] { return !run.running(); }));
  run.kill(SIGINT);
  EXPECT_EQ(run.wait().exit_code, 130);
  EXPECT_EQ(files_.content("npu.conf"), before);
}

// The fault, its calibration against a serial thermometer, and the offset that takes it away.
TEST_F(Calibrate, findsTheDriftOfTheVirtualBoard) {
  const UniqueFd master(posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC));
  ASSERT_TRUE(master && grantpt(master.get()) == 0 && unlockpt(master.get()) == 0);
  const std::string port = ptsname(master.get());
  const UniqueFd slave(open(port.c_str(), O_RDWR | O_NOCTTY | O_CLOEXEC));
  termios raw{};
  ASSERT_EQ(tcgetattr(slave.get(), &raw), 0);
  cfmakeraw(&raw);
  ASSERT_EQ(tcsetattr(slave.get(), TCSANOW, &raw), 0);
  const test::Every thermometer(std::chrono::milliseconds(100),
                                [&](int) { (void)!write(master.get(), "T=35.7 C\r\n", 10); });
  const Finished run =
      assay({"thermal", "calibrate", "--virtual", "--fault", "thermal-drift", "--thermometer",
             port + "@9600", "--accuracy", "0.3C", "--settled", "5K/min", "--json"});
  EXPECT_EQ(run.exit_code, 0) << run.out << run.err;
  const auto figures = step_of(nlohmann::json::parse(run.out), "thermal.calibrate")["measurements"];
  EXPECT_NEAR(named(figures, "correction")["value"], 6.0,
              named(figures, "expanded_uncertainty")["value"]);
  EXPECT_LT(named(figures, "expanded_uncertainty")["value"], 0.5);
}

}  // namespace
}  // namespace assay::test
