#include <exception>
#include <memory>
#include <string>

#include "runtime/npu.h"
#include "runtime/pool/memory_pool.h"

// What the C side holds.
struct npu_mem_pool {
  std::unique_ptr<assay::runtime::MemoryPool> pool;
};

namespace {

using assay::ErrorKind;
using assay::Result;

// The one place where errors are no values: C has none. Of each thread its own.
std::string& last_error() {
  thread_local std::string text;
  return text;
}

int told(const Result<>& result) {
  if (result) return 0;
  last_error() = result.error().text();
  return -1;
}

// Memory may run out in any of them; nothing is thrown into C.
template <class Work>
auto guarded(Work work, decltype(work()) on_error) noexcept {
  try {
    return work();
  } catch (const std::exception& e) {
    try {
      last_error() = e.what();
    } catch (const std::exception&) {
      last_error().clear();
    }
    return on_error;
  }
}

Result<> no_pool() {
  return assay::fail(ErrorKind::usage, "no pool was given");
}

}  // namespace

npu_mem_pool_t* npu_mem_pool_create(uint64_t bytes) {
  return guarded(
      [&]() -> npu_mem_pool_t* {
        auto pool = assay::runtime::MemoryPool::create(bytes);
        if (!pool) {
          last_error() = pool.error().text();
          return nullptr;
        }
        return std::make_unique<npu_mem_pool>(npu_mem_pool{std::move(*pool)}).release();
      },
      nullptr);
}

void npu_mem_pool_destroy(npu_mem_pool_t* pool) {
  const std::unique_ptr<npu_mem_pool> owned(pool);
}

int npu_mem_pool_map(npu_mem_pool_t* pool, uint64_t bytes, npu_placement_t placement,
                     npu_mapping_t* mapping) {
  return guarded(
      [&] {
        if (pool == nullptr || mapping == nullptr) return told(no_pool());
        const auto mapped = pool->pool->map(bytes, placement == NPU_SCATTERED
                                                       ? assay::runtime::Placement::scattered
                                                       : assay::runtime::Placement::contiguous);
        if (!mapped) return told(std::unexpected(mapped.error()));
        *mapping = {mapped->id, mapped->memory.data(), mapped->memory.size(), mapped->blocks};
        return 0;
      },
      -1);
}

void npu_mem_pool_unmap(npu_mem_pool_t* pool, uint64_t id) {
  if (pool != nullptr) pool->pool->unmap(id);
}

int npu_mem_pool_flush(npu_mem_pool_t* pool) {
  if (pool == nullptr) return told(no_pool());
  pool->pool->flush();
  return 0;
}

int npu_mem_pool_defrag(npu_mem_pool_t* pool) {
  return guarded([&] { return told(pool == nullptr ? no_pool() : pool->pool->defragment()); }, -1);
}

int npu_mem_pool_info(const npu_mem_pool_t* pool, npu_mem_pool_info_t* info) {
  if (pool == nullptr || info == nullptr) return told(no_pool());
  const assay::runtime::PoolInfo now = pool->pool->info();
  *info = {now.total_bytes, now.free_bytes, now.largest_free_block_bytes, now.live_mappings};
  return 0;
}

uint64_t npu_mem_pool_largest_free_block(const npu_mem_pool_t* pool) {
  return pool == nullptr ? 0 : pool->pool->info().largest_free_block_bytes;
}

uint64_t npu_mem_pool_prealloc(uint64_t bytes) {
  return guarded([&] { return assay::runtime::preallocate_huge_pages(bytes); }, 0);
}

const char* npu_last_error(void) {
  return last_error().c_str();
}
