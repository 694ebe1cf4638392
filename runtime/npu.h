/* The memory pool of the runtime, for programs in C. The names are those that people of NPU drivers
 * type already.
 *
 * A pool is memory that was taken once, in pages as large as can be had and in the order of their
 * physical addresses. Mappings come out of it. Flush and defragment before a large load, never
 * after: defragmenting moves memory, and is refused while mappings live.
 *
 * Sizes are bytes. Functions that return int give 0, or -1 with npu_last_error() saying why, a text
 * of the calling thread that holds until its next call. All may be called from any thread. */
#ifndef ASSAY_RUNTIME_NPU_H_
#define ASSAY_RUNTIME_NPU_H_

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct npu_mem_pool npu_mem_pool_t;

typedef enum npu_placement {
  NPU_CONTIGUOUS = 0, /* one physical run of pages */
  NPU_SCATTERED = 1   /* any pages; one run of virtual addresses */
} npu_placement_t;

typedef struct npu_mapping {
  uint64_t id; /* never 0 */
  void* memory;
  size_t bytes;
  size_t blocks; /* physical runs that it is made of */
} npu_mapping_t;

typedef struct npu_pool_figures {
  uint64_t total_bytes;
  uint64_t free_bytes;
  uint64_t largest_free_block;
  uint64_t live_mappings;
} npu_mem_pool_info_t;

/* NULL on error. */
npu_mem_pool_t* npu_mem_pool_create(uint64_t bytes);
/* Mappings that are left are gone with it. NULL is allowed. */
void npu_mem_pool_destroy(npu_mem_pool_t* pool);

/* Zero-filled memory. */
int npu_mem_pool_map(npu_mem_pool_t* pool, uint64_t bytes, npu_placement_t placement,
                     npu_mapping_t* mapping);
/* The memory is not free before a flush. Unknown ids are left alone. */
void npu_mem_pool_unmap(npu_mem_pool_t* pool, uint64_t id);

/* Makes free what finished tasks left. */
int npu_mem_pool_flush(npu_mem_pool_t* pool);
/* Joins the pool into runs as long as this machine has. */
int npu_mem_pool_defrag(npu_mem_pool_t* pool);
int npu_mem_pool_info(const npu_mem_pool_t* pool, npu_mem_pool_info_t* info);
/* 0 when nothing is free. */
uint64_t npu_mem_pool_largest_free_block(const npu_mem_pool_t* pool);

/* Makes the kernel keep huge pages for a pool of that size, which a later create finds: at boot,
 * while memory is whole. Returns how many bytes lie ready. Needs root. */
uint64_t npu_mem_pool_prealloc(uint64_t bytes);

const char* npu_last_error(void);

#ifdef __cplusplus
}
#endif

#endif
