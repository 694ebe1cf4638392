// thermal.calibrate as a plan or a command runs it: on fixture trees, with a person, a file and a
// serial thermometer.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <termios.h>
#include <unistd.h>
#include <optional>

#include <chrono>
#include <deque>
#include <filesystem>
#include <functional>
#include <stdexcept>

#include "base/clock.h"
#include "probes/thermal/thermal.h"
#include "tests/probes/bench_fixture.h"
#include "tests/support/every.h"

namespace assay::probes {
namespace {

using reports::StepState;
using test::Outcome;
using testing::HasSubstr;

// A person who answers each question with the next line, and asks nothing back.
class ScriptedPerson final : public Prompt {
 public:
  explicit ScriptedPerson(std::deque<std::string> lines) : lines_(std::move(lines)) {}
  void show(const std::string& text) override { shown += text + "\n"; }
  Result<std::optional<std::string>> next_line(std::int64_t) override {
    if (lines_.empty()) return std::nullopt;
    std::string line = lines_.front();
    lines_.pop_front();
    return line;
  }
  std::string shown;

 private:
  std::deque<std::string> lines_;
};

class ThermalCalibrate : public testing::Test {
 protected:
  ThermalCalibrate() {
    bench_.board.thermal = ThermalProfile{.zone = "thermal_zone0",
                                          .limit_mc = 85'000,
                                          .throttle_mc = 87'000,
                                          .offset_file = "/etc/npu.conf",
                                          .offset_key = "temp_offset"};
    bench_.write("/sys/class/thermal/thermal_zone0/temp", "44300\n");
    bench_.write("/etc/npu.conf", "# board\ntemp_offset=0\ntrace=on\n");
    set("settled", "20K/min");
  }
  void set(const std::string& name, const std::string& value) {
    bench_.parameters.set(name, value);
  }
  std::string pairs(const std::string& csv) {
    files_.write("pairs.csv", csv);
    set("pairs", files_ / "pairs.csv");
    return files_ / "pairs.csv";
  }
  Outcome calibrate() { return bench_.run(thermal_calibrate_probe()); }
  std::string config() const { return bench_.root().content("etc/npu.conf"); }

  test::BenchFixture bench_;
  test::Scratch files_;
};

constexpr const char* six_pairs =
    "sensor,reference\n44.3,46.1\n44.4,46.2\n44.3,46.1\n44.2,46.0\n44.3,46.1\n44.3,46.1\n";

TEST_F(ThermalCalibrate, writesReferenceMinusSensorInMilliDegrees) {
  pairs(six_pairs);
  set("accuracy", "0.3C");
  const Outcome outcome = calibrate();
  EXPECT_EQ(outcome.step.state, StepState::pass) << outcome.journal;
  EXPECT_NEAR(outcome.number("correction"), 1.8, 1e-9);
  EXPECT_NEAR(outcome.number("offset"), 1.8, 1e-9);
  EXPECT_EQ(config(), "# board\ntemp_offset=1800\ntrace=on\n");
  EXPECT_EQ(bench_.root().content("etc/npu.conf.bak"), "# board\ntemp_offset=0\ntrace=on\n");
  // 0.3 C, rectangular, is most of it: 2 * 0.3 / sqrt(3) = 0.346.
  EXPECT_GT(outcome.number("expanded_uncertainty"), 0.346);
  EXPECT_LT(outcome.number("expanded_uncertainty"), 0.37);
  EXPECT_TRUE(outcome.step.findings.empty());
}

TEST_F(ThermalCalibrate, saysWhenTheCorrectionIsSmallerThanItsUncertainty) {
  pairs(six_pairs);
  // 2 C of the reference: 1.8 C are less than its 2.3 C.
  const Outcome outcome = calibrate();
  EXPECT_EQ(outcome.step.state, StepState::pass);
  ASSERT_NE(outcome.finding("THERMAL_CORRECTION_UNCERTAIN"), nullptr);
  EXPECT_EQ(outcome.finding("THERMAL_CORRECTION_UNCERTAIN")->kind,
            reports::FindingKind::observation);
}

TEST_F(ThermalCalibrate, aDryRunWritesNothing) {
  pairs(six_pairs);
  bench_.parameters.set("dry_run", true);
  const Outcome outcome = calibrate();
  EXPECT_EQ(outcome.step.state, StepState::pass);
  EXPECT_THAT(outcome.journal, HasSubstr("temp_offset = 1800 (before: 0)"));
  EXPECT_EQ(config(), "# board\ntemp_offset=0\ntrace=on\n");
  EXPECT_FALSE(std::filesystem::exists(bench_.root() / "etc/npu.conf.bak"));
}

TEST_F(ThermalCalibrate, aBoardWithoutAnOffsetHasOneOnlyWhereAFileIsNamed) {
  bench_.board.thermal->offset_file.clear();
  bench_.board.thermal->offset_key.clear();
  pairs(six_pairs);
  const Outcome outcome = calibrate();
  ASSERT_FALSE(outcome.result);
  EXPECT_EQ(outcome.result.error().where, "config");
  files_.write("own.conf", "");
  set("config", files_ / "own.conf");
  EXPECT_EQ(calibrate().step.state, StepState::pass);
  EXPECT_EQ(files_.content("own.conf"), "temp_offset=1800\n");
}

TEST_F(ThermalCalibrate, refusesMoreThanTenDegrees) {
  for (const auto& [reference, state] : {std::pair{"54.300", StepState::pass},
                                         {"54.301", StepState::fail},
                                         {"34.300", StepState::pass},
                                         {"34.299", StepState::fail}}) {
    bench_.write("/etc/npu.conf", "temp_offset=0\n");
    std::string csv;
    for (int i = 0; i < 5; ++i) csv += std::string("44.3,") + reference + "\n";
    pairs(csv);
    const Outcome outcome = calibrate();
    EXPECT_EQ(outcome.step.state, state) << reference;
    if (state == StepState::pass) continue;
    EXPECT_NE(outcome.finding("THERMAL_SENSOR_DRIFT"), nullptr);
    EXPECT_EQ(config(), "temp_offset=0\n");
  }
}

TEST_F(ThermalCalibrate, anOffsetThatIsThereMustBeKnownToBeInTheReadingsOrNot) {
  pairs(six_pairs);
  bench_.write("/etc/npu.conf", "temp_offset = 500\n");
  Outcome outcome = calibrate();
  ASSERT_FALSE(outcome.result);
  EXPECT_EQ(outcome.result.error().kind, ErrorKind::usage);
  EXPECT_EQ(outcome.result.error().where, "readings_are");
  EXPECT_EQ(config(), "temp_offset = 500\n");
  set("readings_are", "corrected");
  EXPECT_EQ(calibrate().step.state, StepState::pass);
  EXPECT_EQ(config(), "temp_offset = 2300\n");
  set("readings_are", "raw");
  EXPECT_EQ(calibrate().step.state, StepState::pass);
  EXPECT_EQ(config(), "temp_offset = 1800\n");
}

TEST_F(ThermalCalibrate, anOffsetThatIsNoNumberIsAFileToMend) {
  pairs(six_pairs);
  bench_.write("/etc/npu.conf", "temp_offset=warm\n");
  EXPECT_EQ(calibrate().result.error().kind, ErrorKind::bad_file);
  EXPECT_EQ(config(), "temp_offset=warm\n");
}

TEST_F(ThermalCalibrate, asksAPersonOnceTheTemperatureHasSettled) {
  ScriptedPerson person({"46.1", "not a number", "46.1 C", "46,1", "44.3 46.2", "115 F", ""});
  const probes::Bench plain = bench_.bench();
  probes::Bench shared{plain.machine, plain.board, plain.npu, plain.ram,
                       plain.workers, "",          {},        &person};
  Probe probe = thermal_calibrate_probe();
  const auto run = probe.run;
  probe.run = [&](StepContext& context) {
    StepContext with_person{shared, context.parameters, context.recorder, context.cancel};
    return run(with_person);
  };
  const Outcome outcome = bench_.run(probe);
  EXPECT_EQ(outcome.step.state, StepState::pass) << outcome.journal;
  EXPECT_EQ(outcome.number("pairs"), 5);
  EXPECT_NEAR(outcome.number("correction"), 1.82, 0.03);
  EXPECT_THAT(person.shown, HasSubstr("waiting until the temperature has settled"));
  EXPECT_THAT(person.shown, HasSubstr("reading 5: what does the reference thermometer show"));
  EXPECT_THAT(person.shown, HasSubstr("is no temperature"));
}

TEST_F(ThermalCalibrate, withoutAPersonAFileOrAThermometerItCannotTest) {
  EXPECT_EQ(calibrate().result.error().kind, ErrorKind::unavailable);
  EXPECT_EQ(config(), "# board\ntemp_offset=0\ntrace=on\n");
}

// A serial thermometer: a pseudo-terminal that sends a line every 20 ms.
class PtyThermometer {
 public:
  explicit PtyThermometer(std::function<std::string(int)> line_of)
      : master_(posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC)) {
    if (!master_ || grantpt(master_.get()) != 0 || unlockpt(master_.get()) != 0) {
      throw std::runtime_error("no pseudo-terminal");
    }
    port_ = ptsname(master_.get());
    // Held open: the line is up before the probe opens it.
    slave_ = UniqueFd(open(port_.c_str(), O_RDWR | O_NOCTTY | O_CLOEXEC));
    termios raw{};
    tcgetattr(slave_.get(), &raw);
    cfmakeraw(&raw);
    tcsetattr(slave_.get(), TCSANOW, &raw);
    lines_.emplace(std::chrono::milliseconds(20), [this, line_of = std::move(line_of)](int i) {
      const std::string line = line_of(i);
      (void)!write(master_.get(), line.data(), line.size());
    });
  }
  const std::string& port() const { return port_; }

 private:
  UniqueFd master_;
  UniqueFd slave_;
  std::string port_;
  std::optional<test::Every> lines_;
};

TEST_F(ThermalCalibrate, takesPairsFromASerialThermometer) {
  const PtyThermometer thermometer([](int i) {
    // It sends its battery's voltage now and then, and tenths that go up and down.
    return i % 10 == 3 ? std::string("BAT 3.1 V\r\n")
                       : std::string("T: 46.") + (i % 2 == 0 ? "1" : "2") + " C\r\n";
  });
  set("thermometer", thermometer.port() + "@9600");
  bench_.parameters.set("readings", std::uint64_t{12});
  const Outcome outcome = calibrate();
  EXPECT_EQ(outcome.step.state, StepState::pass) << outcome.journal;
  EXPECT_EQ(outcome.number("pairs"), 12);
  EXPECT_NEAR(outcome.number("correction"), 1.85, 0.05);
}

TEST_F(ThermalCalibrate, aReferenceThatMovesNeverSettles) {
  const PtyThermometer thermometer([](int i) { return std::to_string(40.0 + 0.2 * i) + " C\n"; });
  set("thermometer", thermometer.port());
  bench_.parameters.set("settle_time", static_cast<std::uint64_t>(4 * ns_per_s));
  const Outcome outcome = calibrate();
  ASSERT_FALSE(outcome.result);
  EXPECT_EQ(outcome.result.error().kind, ErrorKind::timeout);
  EXPECT_THAT(outcome.result.error().text(), HasSubstr("the reference has not settled"));
  EXPECT_EQ(config(), "# board\ntemp_offset=0\ntrace=on\n");
}

TEST_F(ThermalCalibrate, whatSendsNoTemperaturesIsNoThermometer) {
  const PtyThermometer other([](int) { return "AT+NPUCFG?\r\n"; });
  set("thermometer", other.port());
  EXPECT_EQ(calibrate().result.error().kind, ErrorKind::protocol);
}

TEST_F(ThermalCalibrate, aBrokenSensorIsNotCalibrated) {
  const PtyThermometer thermometer([](int) { return "46.1 C\n"; });
  set("thermometer", thermometer.port());
  bench_.write("/sys/class/thermal/thermal_zone0/temp", "255000\n");
  EXPECT_THAT(calibrate().result.error().text(), HasSubstr("cannot be calibrated"));
}

TEST_F(ThermalCalibrate, wrongParametersAreWrongUse) {
  const Probe probe = thermal_calibrate_probe();
  const struct {
    const char* name;
    const char* value;
  } cases[] = {{"accuracy", "good"},    {"accuracy", "2C,200%"}, {"emissivity", "1.2"},
               {"emissivity", "0.9+-"}, {"room", "warm"},        {"resolution", "0"},
               {"settled", "fast"},     {"readings_are", "old"}};
  for (const auto& c : cases) {
    Parameters parameters;
    parameters.set(c.name, std::string(c.value));
    const auto checked = probe.check(parameters);
    ASSERT_FALSE(checked) << c.name << " " << c.value;
    EXPECT_EQ(checked.error().where, c.name);
    EXPECT_EQ(checked.error().kind, ErrorKind::usage);
  }
  Parameters both;
  both.set("pairs", std::string("a.csv"));
  both.set("thermometer", std::string("/dev/ttyUSB0"));
  EXPECT_FALSE(probe.check(both));
  Parameters good;
  good.set("accuracy", std::string("0.5C,1%"));
  good.set("emissivity", std::string("0.9+-0.05"));
  EXPECT_TRUE(probe.check(good));
}

}  // namespace
}  // namespace assay::probes
