// The sizes of a model as a file that people write (boards/schema/model.schema.json).
#pragma once

#include <string>

#include "base/result.h"
#include "runtime/model/shape.h"
#include "station/config/located_json.h"

namespace assay::station {

// Errors: bad_file, with file:line:column, also for sizes that no model can have.
Result<runtime::ModelShape> parse_model_shape(const LocatedJson& file);

// `name` is a model that the runtime knows, or a path when it has a '/' or ends in ".json". Errors:
// usage with the names there are; bad_file.
Result<runtime::ModelShape> find_model_shape(const std::string& name);

}  // namespace assay::station
