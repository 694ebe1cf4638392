/* runtime/npu.h from C: compiled as C, run as a test. Prints what is not as it must be. */
#include <stdio.h>
#include <string.h>

#include "runtime/npu.h"

static int failures = 0;

static void expect(int holds, const char* what) {
  if (holds) return;
  ++failures;
  fprintf(stderr, "not so: %s (%s)\n", what, npu_last_error());
}

int main(void) {
  const uint64_t mib = (uint64_t)1 << 20;
  npu_mem_pool_info_t info;
  npu_mapping_t mapping;
  npu_mem_pool_t* pool = npu_mem_pool_create(16 * mib);
  expect(pool != NULL, "a pool is made");
  if (pool == NULL) return 1;
  expect(npu_mem_pool_info(pool, &info) == 0 && info.total_bytes == 16 * mib, "it has its size");
  expect(npu_mem_pool_map(pool, 3 * mib, NPU_SCATTERED, &mapping) == 0, "it is mapped from");
  memset(mapping.memory, 1, mapping.bytes);
  expect(mapping.id != 0 && mapping.blocks >= 1, "a mapping has an id and blocks");
  expect(npu_mem_pool_defrag(pool) == -1, "no defragment while it lives");
  expect(strstr(npu_last_error(), "live mappings") != NULL, "and why not");
  npu_mem_pool_unmap(pool, mapping.id);
  expect(npu_mem_pool_flush(pool) == 0, "it is flushed");
  expect(npu_mem_pool_defrag(pool) == 0, "it is defragmented");
  expect(npu_mem_pool_largest_free_block(pool) >= 4096, "a block is free");
  expect(npu_mem_pool_map(pool, 17 * mib, NPU_CONTIGUOUS, &mapping) == -1, "no more than there is");
  expect(strstr(npu_last_error(), "npu_dma_map_error") != NULL, "in the driver's words");
  npu_mem_pool_destroy(pool);
  npu_mem_pool_destroy(NULL);
  expect(npu_mem_pool_create(0) == NULL, "no pool of nothing");
  expect(npu_mem_pool_flush(NULL) == -1, "no pool is told");
  return failures == 0 ? 0 : 1;
}
