// Reads a board profile (boards/*.json, schema assay/board/1).
#pragma once

#include "base/result.h"
#include "probes/framework/board_profile.h"
#include "station/config/located_json.h"

namespace assay::station {

// Errors: bad_file with file:line:column and what was expected.
Result<probes::BoardProfile> parse_profile(const LocatedJson& file);

class ObjectReader;

// The object "golden" of a profile's thermal part.
probes::GoldenThermal read_golden_thermal(ObjectReader& r);

}  // namespace assay::station
