// The kernel's thermal zones (kernel documentation, driver-api/thermal/sysfs-api). Temperatures are
// in thousandths of a degree Celsius.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/machine.h"
#include "probes/framework/board_profile.h"

namespace assay::probes {

std::vector<std::string> thermal_zones(const Machine& machine);

// "/sys/class/thermal/thermal_zone0/temp"
std::string temperature_file(const std::string& zone);

// Silicon outside -40 to 127 C does not answer; sensors report such values when they are broken or
// not connected (-273, 127.5, 255).
bool is_plausible(std::int64_t mc);

// Now, of the zone that the profile names; of the hottest one where it names none. None when no
// zone says anything plausible.
std::optional<std::int64_t> board_temperature(const Machine& machine, const BoardProfile& board);

}  // namespace assay::probes
