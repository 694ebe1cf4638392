// station/config/plan.h: a test plan that a person wrote.
#include "station/config/plan.h"

#include "tests/fuzz/located_error.h"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  assay::fuzz::parse_written_file(data, size, assay::station::parse_plan);
  return 0;
}
