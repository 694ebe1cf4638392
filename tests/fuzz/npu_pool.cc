// probes/fragmentation/npu_pool.h: an NPU driver's account of its pool.
#include "probes/fragmentation/npu_pool.h"

#include "tests/fuzz/fuzz.h"

using assay::fuzz::require;

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto pool = assay::probes::parse_pool_info(assay::fuzz::text_of(data, size));
  if (!pool) {
    require(!pool.error().what.empty(), "an error says what is wrong");
    return 0;
  }
  require(
      pool->largest_free_block_bytes <= pool->free_bytes && pool->free_bytes <= pool->total_bytes,
      "no more is free than there is");
  assay::fuzz::reached(std::to_string(pool->live_mappings) + " mappings");
  return 0;
}
