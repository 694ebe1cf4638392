// station/config/model_shape.h: the sizes of a model that a person wrote.
#include "station/config/model_shape.h"

#include "tests/fuzz/located_error.h"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  assay::fuzz::parse_written_file(data, size, assay::station::parse_model_shape);
  return 0;
}
