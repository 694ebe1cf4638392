#include "probes/thermal/thermal_zones.h"

namespace assay::probes {
namespace {

constexpr const char* zones_folder = "/sys/class/thermal/";
constexpr std::int64_t plausible_min_mc = -40'000;
constexpr std::int64_t plausible_max_mc = 127'000;

}  // namespace

std::vector<std::string> thermal_zones(const Machine& machine) {
  std::vector<std::string> zones;
  for (std::string& name : machine.list(zones_folder).value_or(std::vector<std::string>())) {
    if (name.starts_with("thermal_zone")) zones.push_back(std::move(name));
  }
  return zones;
}

std::string temperature_file(const std::string& zone) {
  return zones_folder + zone + "/temp";
}

bool is_plausible(std::int64_t mc) {
  return mc >= plausible_min_mc && mc <= plausible_max_mc;
}

std::optional<std::int64_t> board_temperature(const Machine& machine, const BoardProfile& board) {
  std::optional<std::int64_t> hottest;
  for (const std::string& zone :
       board.thermal ? std::vector<std::string>{board.thermal->zone} : thermal_zones(machine)) {
    const auto mc = machine.read_integer(temperature_file(zone));
    if (mc && is_plausible(*mc) && (!hottest || *mc > *hottest)) hottest = *mc;
  }
  return hottest;
}

}  // namespace assay::probes
