// station/virtual/virtual_spec.h: a virtual board that a person wrote.
#include "station/virtual/virtual_spec.h"

#include "tests/fuzz/located_error.h"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  assay::fuzz::parse_written_file(data, size, assay::station::parse_virtual_spec);
  return 0;
}
