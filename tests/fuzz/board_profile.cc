// station/config/profile.h: a board profile that a person wrote.
#include "station/config/profile.h"

#include "tests/fuzz/located_error.h"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  assay::fuzz::parse_written_file(data, size, assay::station::parse_profile);
  return 0;
}
