#include "runtime/device/host_device.h"

#include <fmt/core.h>
#include <sys/mman.h>

#include <cerrno>
#include <system_error>

namespace assay::runtime {

HostDevice::~HostDevice() {
  for (const auto& [id, memory] : mappings_) ::munmap(memory.data(), memory.size());
}

Result<Mapping> HostDevice::map(std::uint64_t bytes, Placement placement) {
  if (bytes == 0) return fail(ErrorKind::usage, "a mapping of 0 bytes");
  if (placement == Placement::scattered && bytes > max_chunk_bytes()) {
    return fail(ErrorKind::usage, fmt::format("a chunk of {} bytes is too large", bytes));
  }
  void* memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) {
    return fail(ErrorKind::exhausted, fmt::format("cannot map {} bytes: {}", bytes,
                                                  std::system_category().message(errno)));
  }
  // Only a wish: large pages make the first touch and the reading of weights faster.
  (void)::madvise(memory, bytes, MADV_HUGEPAGE);

  Mapping mapping;
  mapping.memory = {static_cast<std::byte*>(memory), bytes};
  const std::lock_guard lock(mutex_);
  mapping.id = next_id_++;
  mappings_.emplace(mapping.id, mapping.memory);
  return mapping;
}

void HostDevice::unmap(std::uint64_t id) {
  std::span<std::byte> memory;
  {
    const std::lock_guard lock(mutex_);
    const auto found = mappings_.find(id);
    if (found == mappings_.end()) return;
    memory = found->second;
    mappings_.erase(found);
  }
  ::munmap(memory.data(), memory.size());
}

Result<> HostDevice::pool_flush() {
  return fail(ErrorKind::unavailable, "this machine's memory has no NPU pool");
}

Result<> HostDevice::pool_defragment() {
  return fail(ErrorKind::unavailable, "this machine's memory has no NPU pool");
}

PoolInfo HostDevice::pool_info() const {
  PoolInfo info;
  const std::lock_guard lock(mutex_);
  info.live_mappings = mappings_.size();
  return info;
}

}  // namespace assay::runtime
