#include "probes/thermal/sensor_list.h"

#include <algorithm>
#include <charconv>
#include <string_view>

#include "base/utf8.h"

namespace assay::probes {
namespace {

constexpr const char* thermal_folder = "/sys/class/thermal/";
constexpr const char* hwmon_folder = "/sys/class/hwmon/";

// The number between a prefix and a suffix: 1 of "temp1_input".
std::optional<int> number_in(std::string_view name, std::string_view prefix,
                             std::string_view suffix) {
  if (!name.starts_with(prefix) || !name.ends_with(suffix) ||
      name.size() <= prefix.size() + suffix.size()) {
    return std::nullopt;
  }
  int number = 0;
  const char* end = name.data() + name.size() - suffix.size();
  const auto [at, error] = std::from_chars(name.data() + prefix.size(), end, number);
  if (error != std::errc{} || at != end || number < 0) return std::nullopt;
  return number;
}

struct Numbered {
  std::string name;
  int number;
};

// Names in a folder that have a number, by it: thermal_zone10 comes behind thermal_zone9.
std::vector<Numbered> numbered(const Machine& machine, const std::string& folder,
                               std::string_view prefix, std::string_view suffix = "") {
  std::vector<Numbered> found;
  for (std::string& name : machine.list(folder).value_or(std::vector<std::string>())) {
    if (const auto number = number_in(name, prefix, suffix)) {
      found.push_back({std::move(name), *number});
    }
  }
  std::sort(found.begin(), found.end(),
            [](const Numbered& a, const Numbered& b) { return a.number < b.number; });
  return found;
}

std::string line_of(const Machine& machine, const std::string& path) {
  return to_printable(machine.read_line(path).value_or(""));
}

ThermalZone read_zone(const Machine& machine, const std::string& name) {
  const std::string folder = thermal_folder + name + "/";
  ThermalZone zone{name, line_of(machine, folder + "type"), line_of(machine, folder + "mode"), {}};
  for (const Numbered& trip : numbered(machine, folder, "trip_point_", "_temp")) {
    const auto mc = machine.read_integer(folder + trip.name);
    if (!mc) continue;
    const std::string kind =
        line_of(machine, folder + "trip_point_" + std::to_string(trip.number) + "_type");
    zone.trips.push_back({trip.number, kind, *mc});
  }
  return zone;
}

void add_sensors(const Machine& machine, const std::string& chip, HwmonSensor::Kind kind,
                 const std::string& prefix, std::string_view suffix,
                 std::vector<HwmonSensor>& sensors) {
  const std::string folder = hwmon_folder + chip + "/";
  const std::string chip_name = line_of(machine, folder + "name");
  for (const Numbered& input : numbered(machine, folder, prefix, suffix)) {
    const std::string stem = prefix + std::to_string(input.number);
    HwmonSensor sensor{kind, folder + input.name, chip, std::nullopt, false};
    const std::string label = line_of(machine, folder + stem + "_label");
    for (const std::string& part : {chip_name, stem, label}) {
      if (!part.empty()) sensor.label += " " + part;
    }
    if (const auto critical = machine.read_integer(folder + stem + "_crit")) {
      sensor.critical_mc = *critical;
    }
    sensor.faulty = machine.read_integer(folder + stem + "_fault").value_or(0) != 0;
    sensors.push_back(std::move(sensor));
  }
}

}  // namespace

std::string ThermalZone::file() const {
  return thermal_folder + name + "/temp";
}

ThermalInventory thermal_inventory(const Machine& machine) {
  ThermalInventory all;
  for (const Numbered& zone : numbered(machine, thermal_folder, "thermal_zone")) {
    all.zones.push_back(read_zone(machine, zone.name));
  }
  for (const Numbered& device : numbered(machine, thermal_folder, "cooling_device")) {
    const std::string folder = thermal_folder + device.name + "/";
    const auto state = machine.read_integer(folder + "cur_state");
    const auto most = machine.read_integer(folder + "max_state");
    if (!state || !most) continue;
    all.cooling.push_back({device.name, line_of(machine, folder + "type"), *state, *most});
  }
  for (const Numbered& chip : numbered(machine, hwmon_folder, "hwmon")) {
    using enum HwmonSensor::Kind;
    add_sensors(machine, chip.name, temperature, "temp", "_input", all.sensors);
    add_sensors(machine, chip.name, fan, "fan", "_input", all.sensors);
    const std::size_t before = all.sensors.size();
    add_sensors(machine, chip.name, power, "power", "_input", all.sensors);
    // Chips that give an average alone.
    if (all.sensors.size() == before) {
      add_sensors(machine, chip.name, power, "power", "_average", all.sensors);
    }
  }
  return all;
}

std::optional<double> read_power_w(const Machine& machine,
                                   const std::vector<HwmonSensor>& sensors) {
  std::optional<double> sum;
  for (const HwmonSensor& sensor : sensors) {
    if (sensor.kind != HwmonSensor::Kind::power) continue;
    const auto micro_watts = machine.read_integer(sensor.file);
    if (micro_watts) sum = sum.value_or(0) + static_cast<double>(*micro_watts) / 1e6;
  }
  return sum;
}

}  // namespace assay::probes
