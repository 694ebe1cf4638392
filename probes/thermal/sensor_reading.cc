#include "probes/thermal/sensor_reading.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>

#include "probes/thermal/thermal_zones.h"

namespace assay::probes {
namespace {

// INT32_MAX and INT32_MIN are what an error code becomes in a driver that forgets to look at it.
constexpr std::array<std::int64_t, 13> stand_for_no_sensor = {
    -274'000, -273'150, -273'000, -128'000,    -127'000,  127'500,  128'000,
    255'000,  255'500,  256'000,  255'000'000, INT32_MAX, INT32_MIN};

// Above it another sensor shows that the machine is not cold.
constexpr std::int64_t not_cold_mc = 10'000;

bool warm(std::int64_t mc) {
  return mc >= 5'000 && mc <= 127'000;
}

// The unit in which the number would be a temperature of a machine at work.
std::string unit_that_fits(std::int64_t mc, bool machine_is_warm) {
  if (mc >= 15 && mc <= 125) return fmt::format("{} would do as degrees", mc);
  if (machine_is_warm && mc >= 150 && mc <= 1'250) {
    return fmt::format("{} would do as tenths of a degree", mc);
  }
  if (mc > 127'000 && warm(mc - 273'150)) {
    return fmt::format("{} would do as thousandths of a kelvin", mc);
  }
  if (mc > 1'000'000 && warm(mc / 1000)) return fmt::format("{} would do as micro-degrees", mc);
  return {};
}

}  // namespace

SensorReading read_sensor(const Machine& machine, const std::string& path) {
  SensorReading reading;
  const auto fd = machine.open(path, O_RDONLY | O_NONBLOCK);
  if (!fd) {
    reading.error = fd.error();
    return reading;
  }
  char buffer[64];
  ssize_t n = 0;
  do {
    n = ::read(fd->get(), buffer, sizeof buffer);
  } while (n < 0 && errno == EINTR);
  if (n < 0) {
    reading.error_number = errno;
    reading.error = fail_errno(reading.error_number, "cannot read", path).error();
    reading.error.hint = explain_errno(reading.error_number);
    return reading;
  }
  std::string text(buffer, static_cast<std::size_t>(n));
  text.erase(text.find_last_not_of(std::string(" \t\r\n\0", 5)) + 1);
  std::int64_t value = 0;
  const char* end = text.data() + text.size();
  const auto [at, error] = std::from_chars(text.data(), end, value);
  if (error == std::errc{} && at == end) {
    reading.mc = value;
    return reading;
  }
  reading.error = {ErrorKind::protocol,
                   "expected thousandths of a degree, found \"" + text.substr(0, 40) + "\"", path,
                   text.find('.') != text.npos ? "the driver gives another unit" : ""};
  return reading;
}

ReadingVerdict judge_reading(std::int64_t mc, std::optional<std::int64_t> others_mc) {
  const bool machine_is_warm = others_mc && *others_mc > not_cold_mc;
  if (std::find(stand_for_no_sensor.begin(), stand_for_no_sensor.end(), mc) !=
      stand_for_no_sensor.end()) {
    return {ReadingFault::sentinel, "drivers give it for a sensor that is not there"};
  }
  // A register that was never filled. In the cold another sensor near 0 C says otherwise.
  if (mc == 0 && (!others_mc || machine_is_warm)) {
    return {ReadingFault::sentinel, "exactly 0 is what an empty register gives"};
  }
  if (auto unit = unit_that_fits(mc, machine_is_warm); !unit.empty()) {
    return {ReadingFault::wrong_unit, std::move(unit)};
  }
  if (!is_plausible(mc)) return {ReadingFault::out_of_range, "silicon does not answer there"};
  return {};
}

std::string explain_errno(int error_number) {
  switch (error_number) {
    case EAGAIN:
      return "the sensor is busy or asleep: read it again, or wake the device that it is in";
    case EINVAL:
      return "the driver has no valid reading: the zone is disabled, or the sensor not set up";
    case ENODATA:
      return "the sensor has no data: not connected, or its device is off";
    case EIO:
    case ETIMEDOUT:
    case EREMOTEIO:
      return "the bus to the sensor failed: check its wiring and its supply";
    case ENXIO:
    case ENODEV:
      return "the sensor's device went away";
    default:
      return {};
  }
}

}  // namespace assay::probes
